"""The processes of a run, with or without torch.distributed: who this is, and how they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch.distributed as dist

from ckpt_doctor.errors import CkptDoctorError

T = TypeVar("T")


def world_size() -> int:
    """How many processes train together; 1 without a process group."""
    return dist.get_world_size() if _together() else 1


def own_rank() -> int:
    """The number of this process; 0 without a process group."""
    return dist.get_rank() if _together() else 0


def gather(value: T) -> list[T]:
    """The value of every rank, in order, on every rank. All ranks have to call it."""
    if not _together():
        return [value]
    values: list[T | None] = [None] * world_size()
    dist.all_gather_object(values, value)
    return values  # type: ignore[return-value]  # every place is filled by now


def on_first(function: Callable[[], T]) -> T:
    """Run a function on rank 0 and give its result to every rank. All ranks have to call it.

    An error of rank 0 is raised on every rank: none is left waiting for what will not come.

    Raises:
        CkptDoctorError: The function raised it.
        OSError: The function raised it.
    """
    if not _together():
        return function()
    outcome: list[tuple[T | None, Exception | None]] = [(None, None)]
    if own_rank() == 0:
        try:
            outcome = [(function(), None)]
        except (CkptDoctorError, OSError) as error:
            outcome = [(None, error)]
    dist.broadcast_object_list(outcome, src=0)
    result, failure = outcome[0]
    if failure is not None:
        raise failure
    return result  # type: ignore[return-value]  # None only where the function gives None


def _together() -> bool:
    return dist.is_available() and dist.is_initialized()
