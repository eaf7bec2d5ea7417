"""PyTorch-Ignite: ``Checkpoint`` with the objects that it was given.

Source: ``ignite/handlers/checkpoint.py``, ``ignite/engine/``. The engine counts iterations; with
``epoch_length`` that gives the epoch.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "ignite"

_DET = "use DeterministicEngine and add it to to_save with its rng_states: it replays the loader to the place"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: _DET,
        StateKind.CUDA_RNG: _DET,
        StateKind.NUMPY_RNG: _DET,
        StateKind.PYTHON_RNG: _DET,
        StateKind.SAMPLER_EPOCH: _DET,
        StateKind.SAMPLER_RNG: _DET,
        StateKind.DATALOADER_POSITION: _DET,
        StateKind.OPTIMIZER: "add it to the to_save of Checkpoint",
        StateKind.SCHEDULER: "add it to the to_save of Checkpoint",
        StateKind.SCALER: "add it to the to_save of Checkpoint",
        StateKind.STEP: "add it to the to_save of Checkpoint",
    },
    derived={
        StateKind.EPOCH: "iteration and epoch_length give the epoch",
    },
)


def claims(bundle: Bundle) -> int:
    """An engine's state."""
    if not isinstance(bundle.root, dict):
        return 0
    states = [value for value in bundle.root.values() if isinstance(value, dict)]
    return 15 if any({"epoch_length", "iteration"} <= set(state) for state in states) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
