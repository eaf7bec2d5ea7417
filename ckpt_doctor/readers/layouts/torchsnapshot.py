"""torchsnapshot: a folder that ``Snapshot.take`` wrote.

Source: ``torchsnapshot/snapshot.py`` and ``rng_state.py``. What is saved is what the script put into its
``app_state``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "torchsnapshot"

_ADD = "add it to the app_state of Snapshot.take"
_COUNTER = "add a torchsnapshot.StateDict that holds it to the app_state of Snapshot.take"
WORDS = Words(
    remedies={
        StateKind.MODEL: _ADD,
        StateKind.OPTIMIZER: _ADD,
        StateKind.SCHEDULER: _ADD,
        StateKind.SCALER: _ADD,
        StateKind.STEP: _COUNTER,
        StateKind.EPOCH: _COUNTER,
        StateKind.SAMPLER_EPOCH: _COUNTER,
        StateKind.DATALOADER_POSITION: "add torchdata's StatefulDataLoader to the app_state of "
        "Snapshot.take: what is not replicated is kept of each rank",
        StateKind.TORCH_RNG: "add torchsnapshot.RNGState() to the app_state of Snapshot.take",
        StateKind.CUDA_RNG: _COUNTER,
        StateKind.NUMPY_RNG: _COUNTER,
        StateKind.PYTHON_RNG: _COUNTER,
    },
)


def claims(bundle: Bundle) -> int:
    """Its list of what a snapshot holds."""
    return 5 if any(document.format == NAME for document in bundle.documents.values()) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this library."""
    return judge(bundle, found, WORDS)
