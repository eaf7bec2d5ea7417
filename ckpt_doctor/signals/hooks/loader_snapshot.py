"""Snapshots of torchdata's StatefulDataLoader: its state with every batch, and when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ckpt_doctor.facts.moments import DATA_WAIT
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("snapshots", "count", "data", "states of the loader that were put together"),
    Signal("snapshot_s", "s", "data", "time that the training thread spent on them"),
    Signal("snapshot_bytes", "bytes", "data", "size of the workers' states in one of them"),
)
NEEDS = ("torchdata.stateful_dataloader.stateful_dataloader",)

MAX_ITEMS = 20_000
"""Entries of a state that are looked at."""
SAMPLED = 32
"""Items of a long list that are looked at; the others are taken to be as large."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the loader's ``state_dict``, and what keeps the workers' states with the batches."""
    iterators: WeakSet[Any] = WeakSet()

    def make_snapshot(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def take_snapshot(iterator: Any) -> Any:
            iterators.add(iterator)
            return _timed(recorder, original, iterator)

        return take_snapshot

    def make_state(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def state_dict(loader: Any) -> Any:
            return _timed(recorder, original, loader)

        return state_dict

    def describe() -> dict[str, object]:
        sizes = [size_bytes(iterator._snapshot) for iterator in list(iterators)]
        return {"memory.snapshot_bytes": sum(sizes)} if sizes else {}

    recorder.wrap(module._StatefulMultiProcessingDataLoaderIter, "_take_snapshot", make_snapshot)
    recorder.wrap(module.StatefulDataLoader, "state_dict", make_state)
    recorder.describe_with(describe)


def _timed(recorder: Recorder, original: Callable[[Any], Any], owner: Any) -> Any:
    if not recorder.in_training_thread():
        return original(owner)
    start = perf_counter()
    recorder.push(DATA_WAIT)
    try:
        return original(owner)
    finally:
        recorder.pop()
        recorder.count("snapshots")
        recorder.count("snapshot_s", perf_counter() - start)


def size_bytes(state: object) -> int:
    """About how many bytes a nested state holds: eight for a number, the data of strings and tensors."""
    return round(_size_bytes(state, iter(range(MAX_ITEMS))))


def _size_bytes(item: object, left: Iterator[int]) -> float:
    if next(left, None) is None:
        return 0.0
    if isinstance(item, Mapping):
        return sum(_size_bytes(value, left) for value in item.values())
    if isinstance(item, (list, tuple)):
        looked_at = item[:SAMPLED]
        total = sum(_size_bytes(value, left) for value in looked_at)
        return total * len(item) / len(looked_at) if looked_at else 0.0
    if isinstance(item, (str, bytes, bytearray)):
        return len(item)
    size = getattr(item, "nbytes", None)
    return size if isinstance(size, int) else 8
