"""YOLOv5: ``last.pt``, ``best.pt``. Model and EMA are whole modules in half precision.

Source: ``train.py`` and ``utils/general.py`` (``strip_optimizer``) of ultralytics/yolov5.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Find, Survey

NAME = "yolov5"

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
    derived={
        StateKind.SCHEDULER: "the trainer computes the learning rate from the epoch",
    },
)


def claims(bundle: Bundle) -> int:
    """Its keys, with the options that newer trainers no longer have."""
    keys = bundle.keys()
    return 18 if {"epoch", "best_fitness", "ema", "updates", "opt"} <= keys else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS, is_decoy=_is_count_of_the_average)


def _is_count_of_the_average(find: Find) -> bool:
    """``updates`` counts the updates of the average, not the steps of the run."""
    return find.kind is StateKind.STEP and find.path == ("updates",)
