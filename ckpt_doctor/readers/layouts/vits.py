"""VITS and its descendants (RVC, so-vits-svc): ``G_N.pth`` and ``D_N.pth``.

Source: ``train/utils.py`` of RVC-Project, ``utils.py`` of so-vits-svc. What they call ``iteration`` is the
epoch; the global step is computed from it.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Find, Survey

NAME = "vits"

_NOT = "the script has no support for it: resume from end-of-epoch checkpoints, or save it beside the file"
WORDS = Words(
    remedies={
        StateKind.SCALER: _NOT,
        StateKind.TORCH_RNG: _NOT,
        StateKind.CUDA_RNG: _NOT,
        StateKind.NUMPY_RNG: _NOT,
        StateKind.PYTHON_RNG: _NOT,
        StateKind.DATALOADER_POSITION: _NOT,
        StateKind.SAMPLER_EPOCH: _NOT,
        StateKind.SAMPLER_RNG: _NOT,
    },
    derived={
        StateKind.STEP: "the script computes it from the epoch and the length of the loader",
        StateKind.SCHEDULER: "the script builds ExponentialLR again from the epoch",
    },
)


def claims(bundle: Bundle) -> int:
    """The keys of its save_checkpoint; a vocoder's discriminators are ``combd`` and ``sbd``."""
    keys = bundle.keys()
    models = keys & {"model", "combd", "sbd"}
    return 15 if models and keys - models == {"iteration", "optimizer", "learning_rate"} else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the epoch under its other name."""
    judged = judge(bundle, found, WORDS, is_decoy=_is_epoch)
    judged[StateKind.EPOCH] = present("iteration")
    return judged


def _is_epoch(find: Find) -> bool:
    return find.kind is StateKind.STEP and find.path == ("iteration",)
