"""Settings of torch that change results or speed: backends, precision, determinism, threads.

Debugging aids (anomaly detection, profilers) are left out: they change no result, and a checkpoint
must not bring them back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple

import torch

THREADS = "num_threads"
"""Threads that one operation may use."""


class _Flag(NamedTuple):
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _attribute(path: str) -> _Flag:
    *folders, name = path.split(".")

    def owner() -> Any:
        return reduce(getattr, folders, torch)

    return _Flag(lambda: getattr(owner(), name), lambda value: setattr(owner(), name, value))


def _set_deterministic(value: Any) -> None:
    enabled, warn_only = value
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


_ATTRIBUTES = (
    "backends.cudnn.enabled",
    "backends.cudnn.benchmark",
    "backends.cudnn.deterministic",
    "backends.cudnn.allow_tf32",
    "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
)

_FLAGS: Mapping[str, _Flag] = {
    **{path: _attribute(path) for path in _ATTRIBUTES},
    "float32_matmul_precision": _Flag(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "deterministic_algorithms": _Flag(
        lambda: [
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ],
        _set_deterministic,
    ),
    "default_dtype": _Flag(
        lambda: str(torch.get_default_dtype()).removeprefix("torch."),
        lambda value: torch.set_default_dtype(getattr(torch, value)),
    ),
    "flash_sdp": _Flag(torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    "mem_efficient_sdp": _Flag(
        torch.backends.cuda.mem_efficient_sdp_enabled, torch.backends.cuda.enable_mem_efficient_sdp
    ),
    "math_sdp": _Flag(torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    THREADS: _Flag(torch.get_num_threads, torch.set_num_threads),
}


def flags_state() -> dict[str, Any]:
    """The present value of every setting that this torch has."""
    values = {}
    for name, flag in _FLAGS.items():
        value = _read(flag)
        if value is not None:
            values[name] = value
    return values


def set_flags(saved: Mapping[str, Any]) -> tuple[str, ...]:
    """Put settings back; those that are as they were are not touched.

    Returns:
        What was changed or could not be put back, one sentence each.
    """
    notes = []
    for name, value in saved.items():
        flag = _FLAGS.get(name)
        now = None if flag is None else _read(flag)
        if flag is None or now is None or now == value:
            continue
        if name == THREADS and value > (cpus := _cpus()):
            notes.append(f"{name} stays {now}: {value} at the save, but only {cpus} CPUs are here")
            continue
        flag.write(value)
        notes.append(f"{name} was {now} and is {value} again")
    return tuple(notes)


def _cpus() -> int:
    """CPUs that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _read(flag: _Flag) -> Any:
    """None where this torch has no such setting, or refuses to tell since a newer one stands for it."""
    try:
        return flag.read()
    except (AttributeError, RuntimeError):
        return None
