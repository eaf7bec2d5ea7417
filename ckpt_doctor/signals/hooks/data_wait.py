"""Time in a loader's ``__next__``, and how much each batch brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import get_ident
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.clock import DATA_WAIT, END, FORWARD, INTO, LONG, OBSERVER, SHIFT
from ckpt_doctor.signals.contract import Recorder, Signal
from ckpt_doctor.signals.hooks.loader import NUMBER

SIGNALS = (
    Signal("data_wait", "s", "data", "time in the loader's __next__, and in starting and ending its workers"),
    Signal("batches", "count", "work", "batches drawn from any loader"),
    Signal("elements", "count", "work", "tensor elements in those batches"),
    Signal("samples", "count", "work", "length of the first dimension of those batches"),
    Signal("first_batch", "event", "data", "how long the first batch of an iteration took"),
)
NEEDS = ("torch.utils.data.dataloader",)

MAX_LEAVES = 64
"""Tensors looked at in one batch; more belong to per-sample structures."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap ``__next__`` of the iterators' base class, which StatefulDataLoader's use as well."""
    tensor_type = module.torch.Tensor
    counters, at_batch = recorder.counters, recorder.at_batch
    tape, opened = recorder.clock.tape, recorder.clock.opened
    mark = tape.append

    def note(iterator: Any, batch: Any) -> None:
        counters["batches"] = counters.get("batches", 0) + 1
        if len(tape) > LONG:
            recorder.clock.read()
        for act in at_batch:
            act(iterator, batch)

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed_next(iterator: Any) -> Any:
            if get_ident() != recorder.thread:
                batch = original(iterator)
                note(iterator, batch)
                return batch
            first = iterator._num_yielded == 0
            start_ns = perf_counter_ns()
            opened.append(DATA_WAIT)
            mark(start_ns << SHIFT | DATA_WAIT)
            try:
                batch = original(iterator)
            except BaseException:
                recorder.pop()
                raise
            end_ns = perf_counter_ns()
            if opened:
                opened.pop()
            mark(end_ns << SHIFT | INTO | FORWARD)
            mark(end_ns << SHIFT | OBSERVER)
            note(iterator, batch)
            elements, samples = _size(batch, tensor_type)
            counters["elements"] = counters.get("elements", 0) + elements
            counters["samples"] = counters.get("samples", 0) + samples
            if first:
                recorder.event(
                    "first_batch",
                    (end_ns - start_ns) * 1e-9,
                    loader=getattr(iterator, NUMBER, None),
                    workers=iterator._num_workers,
                )
            mark(perf_counter_ns() << SHIFT | END)
            return batch

        return timed_next

    recorder.wrap(module._BaseDataLoaderIter, "__next__", make)


def _size(batch: Any, tensor_type: type) -> tuple[int, int]:
    """Elements of all tensors of a batch, and the largest first dimension among them."""
    elements = samples = 0
    waiting, seen = [batch], 0
    while waiting and seen < MAX_LEAVES:
        item = waiting.pop()
        if isinstance(item, tensor_type):
            seen += 1
            elements += item.numel()  # type: ignore[attr-defined]
            if item.ndim:  # type: ignore[attr-defined]
                samples = max(samples, item.shape[0])  # type: ignore[attr-defined]
        elif isinstance(item, (list, tuple)):
            waiting.extend(item[:MAX_LEAVES])
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
    return elements, samples
