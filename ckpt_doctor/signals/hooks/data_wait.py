"""Time in a loader's ``__next__``, and how much each batch brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import get_ident
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import DATA_WAIT, END, FED, Shape
from ckpt_doctor.signals.contract import Recorder, Signal
from ckpt_doctor.signals.hooks.loader import NUMBER
from ckpt_doctor.signals.hooks.sample_order import DRAWN

SIGNALS = (
    Signal("data_wait", "s", "data", "time in the loader's __next__, and in starting and ending its workers"),
    Signal("batches", "count", "work", "batches drawn from any loader"),
    Signal("elements", "count", "work", "tensor elements in those batches"),
    Signal("samples", "count", "work", "length of the first dimension of those batches"),
    Signal("first_batch", "event", "data", "how long the first batch of an iteration took"),
)
NEEDS = ("torch.utils.data.dataloader",)

EVERY = 0xFFF
"""After so many batches of an iterator it is written down what has happened."""

MAX_LEAVES = 64
"""Tensors looked at in one batch; more belong to per-sample structures."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap ``__next__`` of the iterators' base class, which StatefulDataLoader's use as well."""
    tensor_type = module.torch.Tensor
    clock, opened, feed = recorder.clock, recorder.clock.opened, recorder.clock.fed.append
    mark_wait, mark_fed, mark_end = clock.marker(DATA_WAIT), clock.marker(FED), clock.marker(END)

    def aside(iterator: Any, batch: Any) -> None:
        recorder.count("batches")
        drawn = getattr(iterator, DRAWN, None)
        digest = (drawn and drawn.popleft()) or recorder.identify(batch)
        if digest is not None:
            recorder.fed_with(digest)

    def now_and_then(iterator: Any, duration_s: float) -> None:
        if iterator._num_yielded == 1:
            number = getattr(iterator, NUMBER, None)
            recorder.event("first_batch", duration_s, loader=number, workers=iterator._num_workers)
        else:
            recorder.write_down()

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed_next(iterator: Any) -> Any:
            if get_ident() != recorder.thread:
                batch = original(iterator)
                aside(iterator, batch)
                return batch
            start_ns = perf_counter_ns()
            opened.append(DATA_WAIT)
            mark_wait(start_ns)
            try:
                batch = original(iterator)
            except BaseException:
                recorder.pop()
                raise
            end_ns = perf_counter_ns()
            if opened:
                opened.pop()
            try:
                drawn = getattr(iterator, DRAWN, None)
                digest = (drawn and drawn.popleft()) or recorder.identify(batch)
                feed((_shapes(batch, tensor_type), digest))
            except Exception:  # noqa: BLE001 - the user's objects may answer in any way
                feed(((), None))
            if iterator._num_yielded & EVERY == 1:
                now_and_then(iterator, (end_ns - start_ns) * 1e-9)
            mark_fed(end_ns)
            mark_end(perf_counter_ns())
            return batch

        return timed_next

    recorder.wrap(module._BaseDataLoaderIter, "__next__", make)


def _shapes(batch: Any, tensor_type: type) -> list[Shape]:
    """Shapes of the tensors of a batch."""
    shapes: list[Shape] = []
    if type(batch) in (list, tuple):
        for item in batch:
            if type(item) is not tensor_type:
                break
            shapes.append(item.shape)  # type: ignore[attr-defined]
        else:
            return shapes[:MAX_LEAVES]
    return _nested_shapes(batch, tensor_type)


def _nested_shapes(batch: Any, tensor_type: type) -> list[Shape]:
    shapes: list[Shape] = []
    waiting = [batch]
    while waiting and len(shapes) < MAX_LEAVES:
        item = waiting.pop()
        if isinstance(item, tensor_type):
            shapes.append(item.shape)  # type: ignore[attr-defined]
        elif isinstance(item, (list, tuple)):
            waiting.extend(item[:MAX_LEAVES])
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
    return shapes
