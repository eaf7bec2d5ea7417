"""Tells the loader that feeds the training from others, in a process that is still to come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IDENTITY = ("dataset", "dataset_len")
"""What stays the same when a script builds its loader anew (see signals.hooks.loader)."""


def identity(arguments: Mapping[str, object]) -> dict[str, object]:
    """What a loader of these arguments is known by."""
    return {name: arguments.get(name) for name in IDENTITY}


def is_known_by(loader: Any, wanted: Mapping[str, object]) -> bool:
    """Whether a loader is the one that these values belong to."""
    data_set = getattr(loader, "dataset", None)
    try:
        length = len(data_set)  # type: ignore[arg-type]
    except (TypeError, NotImplementedError, AttributeError):
        length = None
    return {"dataset": type(data_set).__name__, "dataset_len": length} == dict(wanted)
