"""skorch: the files of its Checkpoint callback, ``params.pt``, ``optimizer.pt`` and ``history.json``.

Source: ``skorch/net.py`` and ``callbacks/training.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Survey

NAME = "skorch"

_HISTORY = "history.json"
_NOT = "skorch does not support it: TrainEndCheckpoint and LoadInitState go on from the end of an epoch"
WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "Checkpoint(f_optimizer='optimizer.pt')",
        StateKind.SCHEDULER: "none is built in: LRScheduler begins anew",
        StateKind.EPOCH: f"Checkpoint(f_history='{_HISTORY}')",
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
    """Its names of files."""
    names = bundle.files.keys()
    return 15 if "params.pt" in names and names & {"optimizer.pt", "criterion.pt", _HISTORY} else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; the history has an entry for each epoch."""
    judged = judge(bundle, found, WORDS)
    if _HISTORY in bundle.files:
        judged[StateKind.EPOCH] = present(_HISTORY)
    return judged
