"""Coqui's Trainer (TTS): ``checkpoint_N.pth``, ``best_model.pth``.

Source: ``trainer/io.py`` of coqui-tts-trainer.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "coqui"

_NOT = "the Trainer does not support it: resume from the end of an epoch, or save it beside the file"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: _NOT,
        StateKind.CUDA_RNG: _NOT,
        StateKind.NUMPY_RNG: _NOT,
        StateKind.PYTHON_RNG: _NOT,
        StateKind.DATALOADER_POSITION: _NOT,
        StateKind.SAMPLER_EPOCH: _NOT,
        StateKind.SAMPLER_RNG: _NOT,
        StateKind.SCALER: "mixed_precision=True keeps its scaler",
    },
)


def claims(bundle: Bundle) -> int:
    """The keys of its save_checkpoint."""
    return 15 if {"config", "model", "optimizer", "step", "epoch", "date"} <= bundle.keys() else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
