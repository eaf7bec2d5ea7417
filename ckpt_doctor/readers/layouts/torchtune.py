"""torchtune: ``epoch_N/`` with weights and ``recipe_state/recipe_state.pt``.

Source: ``torchtune/training/checkpointing/``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "torchtune"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "none is built in: only the seed is kept",
        StateKind.CUDA_RNG: "none is built in: only the seed is kept",
        StateKind.NUMPY_RNG: "none is built in: only the seed is kept",
        StateKind.PYTHON_RNG: "none is built in: only the seed is kept",
        StateKind.OPTIMIZER: "save before the last epoch: the recipe state is left out after it",
        StateKind.DATALOADER_POSITION: "torchtune 0.6 or newer keeps it",
    },
    never={
        StateKind.TORCH_RNG: "torchtune keeps the seed only",
        StateKind.CUDA_RNG: "torchtune keeps the seed only",
        StateKind.NUMPY_RNG: "torchtune keeps the seed only",
        StateKind.PYTHON_RNG: "torchtune keeps the seed only",
    },
    derived={
        StateKind.SCHEDULER: "the recipe builds the schedule from the step count",
    },
)


def claims(bundle: Bundle) -> int:
    """Its recipe state."""
    return 20 if any(name.endswith("recipe_state.pt") for name in bundle.files) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
