"""The kinds of runtime state that a training run has, and whether a checkpoint holds them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class StateKind(str, Enum):
    """One kind of state that a run must get back to go on as if it had never stopped."""

    MODEL = "model"
    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    SCALER = "scaler"
    STEP = "step"
    EPOCH = "epoch"
    SAMPLER_EPOCH = "sampler_epoch"
    SAMPLER_RNG = "sampler_rng"
    DATALOADER_POSITION = "dataloader_position"
    TORCH_RNG = "torch_rng"
    CUDA_RNG = "cuda_rng"
    NUMPY_RNG = "numpy_rng"
    PYTHON_RNG = "python_rng"
    EMA = "ema"
    COMPILE_CACHE = "compile_cache"
    LOADER_ARGUMENTS = "loader_arguments"


class PresenceStatus(str, Enum):
    """Whether a state is in a checkpoint."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class PresenceDetail(str, Enum):
    """What more is to be said than present, absent or unknown."""

    INCOMPLETE = "incomplete"
    COUNT = "count"
    """A plain number of batches or samples: it says how far, not in which order."""
    EMPTY = "empty"
    NULL = "null"
    ELSEWHERE = "elsewhere"
    DERIVED = "derived"
    NEVER_BY_FRAMEWORK = "never_by_framework"


class Presence(NamedTuple):
    """Whether and where one state is in a checkpoint."""

    status: PresenceStatus
    detail: PresenceDetail | None = None
    where: str | None = None
    """File (for folders) and key path, as ``optimizer.pt: state`` or ``optimizer_states[0]``."""
    why: str | None = None
    """Why it is absent or unknown, or what the detail means here."""
    remedy: str | None = None
    """What to do about its absence, in the words of the framework that wrote the checkpoint."""
