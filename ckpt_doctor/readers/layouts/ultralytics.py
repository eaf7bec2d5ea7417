"""Ultralytics YOLO: ``last.pt`` and ``best.pt``. The weights are those of the EMA, in half precision.

Source: ``ultralytics/engine/trainer.py`` (``save_model``) and ``utils/torch_utils.py`` (``strip_optimizer``).
At the end of training the file is stripped on purpose: then no run can go on from it.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Find, Survey

NAME = "ultralytics"

_NOT = "the trainer does not support it: resume from end-of-epoch checkpoints (last.pt during training)"
WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "take a file from before the end of training, where the optimizer is stripped",
        StateKind.STEP: _NOT,
        StateKind.DATALOADER_POSITION: _NOT,
        StateKind.SAMPLER_EPOCH: _NOT,
        StateKind.SAMPLER_RNG: _NOT,
        StateKind.TORCH_RNG: _NOT,
        StateKind.CUDA_RNG: _NOT,
        StateKind.NUMPY_RNG: _NOT,
        StateKind.PYTHON_RNG: _NOT,
    },
    derived={StateKind.SCHEDULER: "the trainer computes the learning rate from the epoch"},
)


def claims(bundle: Bundle) -> int:
    """The trainer's own keys beside the weights."""
    keys = bundle.keys()
    return 20 if {"train_args", "ema", "updates", "epoch"} <= keys else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; during training the EMA is the only copy of the weights."""
    judged = judge(bundle, found, WORDS, is_decoy=_is_count_of_the_average)
    ema = judged[StateKind.EMA]
    if judged[StateKind.MODEL].status is PresenceStatus.ABSENT and ema.status is PresenceStatus.PRESENT:
        judged[StateKind.MODEL] = present(
            ema.where or "ema", why="the weights of the average stand for the model"
        )
    return judged


def _is_count_of_the_average(find: Find) -> bool:
    """``updates`` counts the updates of the average, not the steps of the run."""
    return find.kind is StateKind.STEP and find.path == ("updates",)
