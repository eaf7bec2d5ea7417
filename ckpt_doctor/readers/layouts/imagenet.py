"""The ImageNet example of pytorch/examples: ``checkpoint.pth.tar``.

Source: ``imagenet/main.py``. Older versions save no scheduler.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "imagenet"

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
    """The keys of its save_checkpoint."""
    keys = bundle.keys()
    return 15 if {"epoch", "arch", "state_dict"} <= keys and keys & {"best_acc1", "best_prec1"} else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
