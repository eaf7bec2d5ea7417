"""Reference scripts of torchvision: ``checkpoint.pth``, ``model_N.pth``.

Source: ``references/classification/train.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "torchvision"

_NOT = "the script has no support for it: resume from end-of-epoch checkpoints, or save it beside the file"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: _NOT,
        StateKind.CUDA_RNG: _NOT,
        StateKind.NUMPY_RNG: _NOT,
        StateKind.PYTHON_RNG: _NOT,
        StateKind.DATALOADER_POSITION: _NOT,
        StateKind.SAMPLER_EPOCH: _NOT,
        StateKind.SAMPLER_RNG: _NOT,
    },
)


def claims(bundle: Bundle) -> int:
    """The keys of the reference scripts."""
    return 12 if {"model", "optimizer", "lr_scheduler", "epoch", "args"} <= bundle.keys() else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
