"""fastai: ``learn.save``.

Source: ``fastai/learner.py`` (``save_model``) and ``optimizer.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "fastai"

_NOT = "the script has no support for it: resume from end-of-epoch checkpoints, or save it beside the file"
WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "learn.save(name, with_opt=True)",
        StateKind.STEP: (
            "SaveModelCallback(every_epoch=True) puts the epoch into the file name; "
            "fit(start_epoch=n) skips to it"
        ),
        StateKind.EPOCH: (
            "SaveModelCallback(every_epoch=True) puts the epoch into the file name; "
            "fit(start_epoch=n) skips to it"
        ),
        StateKind.TORCH_RNG: _NOT,
        StateKind.CUDA_RNG: _NOT,
        StateKind.NUMPY_RNG: _NOT,
        StateKind.PYTHON_RNG: _NOT,
        StateKind.SAMPLER_EPOCH: _NOT,
        StateKind.SAMPLER_RNG: _NOT,
        StateKind.DATALOADER_POSITION: _NOT,
    },
    never={
        StateKind.EPOCH: "learn.save keeps model and optimizer only",
        StateKind.STEP: "learn.save keeps model and optimizer only",
    },
)


def claims(bundle: Bundle) -> int:
    """A model beside an optimizer of hypers."""
    opt = bundle.root.get("opt") if isinstance(bundle.root, dict) else None
    return 15 if isinstance(opt, dict) and "hypers" in opt else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
