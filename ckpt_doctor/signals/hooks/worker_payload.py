"""What a loader hands to each worker process: the data set and all that hangs on it."""

from __future__ import annotations

import multiprocessing.reduction
from collections.abc import Callable
from time import perf_counter
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal(
        "worker_payload",
        "event",
        "data",
        "the pickled data set was sent to a worker (spawn, forkserver): bytes and seconds",
    ),
)
NEEDS = ("torch.utils.data.dataloader",)

WORKER_LOOP = "_worker_loop"
"""What torch's and torchdata's loaders have their workers run."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap what pickles a process object for its new interpreter; forked workers inherit theirs."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def timed_dump(obj: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(getattr(obj, "_target", None), "__name__", None) != WORKER_LOOP:
                return original(obj, file, *args, **kwargs)
            before = _position(file)
            start = perf_counter()
            result = original(obj, file, *args, **kwargs)
            duration_s, after = perf_counter() - start, _position(file)
            size_bytes = None if before is None or after is None else after - before
            recorder.event("worker_payload", duration_s, bytes=size_bytes)
            return result

        return timed_dump

    recorder.wrap(multiprocessing.reduction, "dump", make)


def _position(file: Any) -> int | None:
    """How far a file is written; None for a pipe."""
    try:
        return int(file.tell())
    except (AttributeError, OSError):
        return None
