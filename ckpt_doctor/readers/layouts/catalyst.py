"""Catalyst: ``model.last.pth``, ``model.best.pth``.

Source: ``catalyst/utils/torch.py`` and ``callbacks/checkpoint.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "catalyst"

_NOT = "the runner does not support it: resume from the end of an epoch, or save it in a callback of your own"
_RUNNER = 'CheckpointCallback(mode="runner") keeps model, optimizer and scheduler'
WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: _RUNNER,
        StateKind.SCHEDULER: _RUNNER,
        StateKind.STEP: _NOT,
        StateKind.EPOCH: _NOT,
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
    """The loss's state beside the model's and the optimizer's, which few others save."""
    keys = bundle.keys()
    return 12 if {"model_state_dict", "criterion_state_dict", "optimizer_state_dict"} <= keys else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
