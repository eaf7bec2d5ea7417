"""Which loaders there are, with what arguments, and when they start workers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from time import perf_counter
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from ckpt_doctor.facts.moments import DATA_WAIT
from ckpt_doctor.signals.caller import user_line
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal(
        "loader",
        "event",
        "data",
        "a loader was iterated for the first time: its kind, its arguments and the line that built it",
    ),
    Signal(
        "worker_start", "event", "data", "a loader started worker processes: how many, and how long it took"
    ),
    Signal("worker_starts", "count", "data", "worker processes started"),
)
NEEDS = ("torch.utils.data.dataloader", "torchdata.stateful_dataloader.stateful_dataloader")

ARGUMENTS = (
    "batch_size",
    "num_workers",
    "prefetch_factor",
    "persistent_workers",
    "pin_memory",
    "drop_last",
    "timeout",
)


NUMBER = "_ckpt_doctor_loader"
"""Attribute of an iterator: the number of the loader that made it."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap what makes an iterator: in torch's module, and in torchdata's for what it overrides."""
    if module.__name__ == "torch.utils.data.dataloader":
        _introduce_loaders(recorder, module)
        recorder.wrap(module.DataLoader, "_get_iterator", _timed_start(recorder))
        recorder.wrap(module._MultiProcessingDataLoaderIter, "_shutdown_workers", _timed_end(recorder))
    else:
        recorder.wrap(module.StatefulDataLoader, "_get_iterator", _timed_start(recorder))


def _introduce_loaders(recorder: Recorder, module: ModuleType) -> None:
    """Number the loaders by their first use, and describe each once."""
    known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    built: WeakKeyDictionary[Any, dict[str, object]] = WeakKeyDictionary()
    described: dict[int, dict[str, object]] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def begin(iterator: Any, loader: Any) -> None:
            number = known.get(loader)
            if number is None:
                number = known[loader] = len(described)
                described[number] = _arguments(loader)
                place = {f"built_{name}": value for name, value in built.get(loader, {}).items()}
                recorder.event("loader", loader=number, **described[number], **user_line(), **place)
            setattr(iterator, NUMBER, number)
            original(iterator, loader)

        return begin

    def make_check(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def check(loader: Any) -> Any:
            if loader not in built:
                built[loader] = user_line()
            return original(loader)

        return check

    def describe() -> dict[str, object]:
        alive = set(known.values())
        return {
            f"loader.{number}.{name}": value
            for number, arguments in described.items()
            if number in alive
            for name, value in arguments.items()
        }

    recorder.wrap(module._BaseDataLoaderIter, "__init__", make)
    # The last that a loader's constructor does. The constructor itself is left alone: frameworks that build
    # loaders anew read its arguments.
    recorder.wrap(module.DataLoader, "check_worker_number_rationality", make_check)
    recorder.describe_with(describe)


def _timed_start(recorder: Recorder) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Time the making of an iterator: with workers, that is where they start."""

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def get_iterator(loader: Any) -> Any:
            in_thread = recorder.in_training_thread()
            start = perf_counter()
            if in_thread:
                recorder.push(DATA_WAIT)
            try:
                iterator = original(loader)
            finally:
                if in_thread:
                    recorder.pop()
            if loader.num_workers:
                recorder.count("worker_starts", loader.num_workers)
                recorder.event(
                    "worker_start",
                    perf_counter() - start,
                    loader=getattr(iterator, NUMBER, None),
                    workers=loader.num_workers,
                    **user_line(),
                )
            return iterator

        return get_iterator

    return make


def _timed_end(recorder: Recorder) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Time the end of the workers as waiting for data: a loop that drops its iterator early pays it there."""

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def shutdown_workers(iterator: Any) -> Any:
            if not recorder.in_training_thread():
                return original(iterator)
            recorder.push(DATA_WAIT)
            try:
                return original(iterator)
            finally:
                recorder.pop()

        return shutdown_workers

    return make


def _arguments(loader: Any) -> dict[str, object]:
    values: dict[str, object] = {"kind": type(loader).__name__}
    for name in ARGUMENTS:
        values[name] = getattr(loader, name, None)
    if values["batch_size"] is None:
        # Wrapped loaders (accelerate) are given a batch sampler that knows it.
        values["batch_size"] = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    context = getattr(loader, "multiprocessing_context", None)
    values["context"] = context.get_start_method() if context is not None else None
    values["sampler"] = type(getattr(loader, "sampler", None)).__name__
    values["dataset"] = type(getattr(loader, "dataset", None)).__name__
    values["collate_fn"] = getattr(getattr(loader, "collate_fn", None), "__qualname__", None)
    with contextlib.suppress(TypeError, NotImplementedError, AttributeError):
        values["dataset_len"] = len(loader.dataset)
    return values
