"""Tells the loader that feeds the training from others in a process that is still to come, and reaches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckpt_doctor.signals.contract import Recorder

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


def before_each_epoch(
    recorder: Recorder, module: ModuleType, wanted: Mapping[str, object], act: Callable[[Any], None]
) -> None:
    """Do something with each new iterator of a loader before anything is drawn from its sampler.

    Args:
        recorder: Wraps the iterators.
        module: ``torch.utils.data.dataloader``.
        wanted: What the loader is known by.
        act: Gets the iterator.
    """

    def make_begin(original: Callable[..., Any]) -> Callable[..., Any]:
        def begin(iterator: Any, loader: Any) -> None:
            original(iterator, loader)
            # With workers, ``_reset`` asks the sampler for another iterator, and prefetches from that one.
            if not iterator._num_workers and is_known_by(loader, wanted):
                act(iterator)

        return begin

    def make_reset(original: Callable[..., Any]) -> Callable[..., Any]:
        def reset(iterator: Any, *args: Any, **kwargs: Any) -> None:
            original(iterator, *args, **kwargs)
            if iterator._num_workers and args and is_known_by(args[0], wanted):
                act(iterator)

        return reset

    recorder.wrap(module._BaseDataLoaderIter, "__init__", make_begin)
    recorder.wrap(module._BaseDataLoaderIter, "_reset", make_reset)
