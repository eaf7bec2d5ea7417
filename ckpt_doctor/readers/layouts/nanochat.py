"""nanochat: ``model_NNNNNN.pt``, ``meta_NNNNNN.json`` and optimizer files by rank.

Source: ``nanochat/checkpoint_manager.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "nanochat"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "none is built in",
        StateKind.CUDA_RNG: "none is built in",
        StateKind.NUMPY_RNG: "none is built in",
        StateKind.PYTHON_RNG: "none is built in",
        StateKind.OPTIMIZER: "keep the optim_ files of all ranks: each holds only its own parameters",
    },
    derived={
        StateKind.SCHEDULER: "the learning rate is a function of the step",
    },
)


def claims(bundle: Bundle) -> int:
    """Weights and metadata of one number."""
    meta = any(name.startswith("meta_") and name.endswith(".json") for name in bundle.files)
    return (
        20 if meta and any(name.startswith("model_") and name.endswith(".pt") for name in bundle.files) else 0
    )


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
