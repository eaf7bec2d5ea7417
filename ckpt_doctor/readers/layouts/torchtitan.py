"""torchtitan: ``checkpoint/step-N/``, a DCP folder.

Source: ``torchtitan/components/checkpointer/``. The last checkpoint holds the model only by default.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "torchtitan"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "add a Stateful with a key for each rank to the checkpointer's states",
        StateKind.CUDA_RNG: "add a Stateful with a key for each rank to the checkpointer's states",
        StateKind.NUMPY_RNG: "add a Stateful with a key for each rank to the checkpointer's states",
        StateKind.PYTHON_RNG: "add a Stateful with a key for each rank to the checkpointer's states",
        StateKind.OPTIMIZER: "checkpoint.last_save_model_only=False",
        StateKind.SCHEDULER: "checkpoint.last_save_model_only=False",
        StateKind.STEP: "checkpoint.last_save_model_only=False",
        StateKind.DATALOADER_POSITION: (
            "keep the dataloader in the states; the degree of data parallelism must stay"
        ),
    },
    never={
        StateKind.TORCH_RNG: "torchtitan seeds generators, but saves no state of theirs",
        StateKind.CUDA_RNG: "torchtitan seeds generators, but saves no state of theirs",
        StateKind.NUMPY_RNG: "torchtitan seeds generators, but saves no state of theirs",
        StateKind.PYTHON_RNG: "torchtitan seeds generators, but saves no state of theirs",
        StateKind.SCALER: "torchtitan trains in bfloat16 without a scaler",
    },
)


def claims(bundle: Bundle) -> int:
    """Its counter of training beside DCP."""
    metadata = bundle.documents.get(".metadata")
    return (
        20
        if metadata is not None and isinstance(metadata.root, dict) and "train_state" in metadata.root
        else 0
    )


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
