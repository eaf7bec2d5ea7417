"""Time in a loader's ``__next__``, and how much each batch brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.clock import DATA_WAIT, FORWARD, OBSERVER
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

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed_next(iterator: Any) -> Any:
            if not recorder.in_training_thread():
                batch = original(iterator)
                recorder.batch_arrived(iterator, batch)
                return batch
            first = iterator._num_yielded == 0
            start = perf_counter()
            recorder.push(DATA_WAIT)
            try:
                batch = original(iterator)
            except BaseException:
                recorder.pop()
                raise
            recorder.pop_into(FORWARD)
            recorder.push(OBSERVER)
            recorder.batch_arrived(iterator, batch)
            elements, samples = _size(batch, tensor_type)
            recorder.count("elements", elements)
            recorder.count("samples", samples)
            if first:
                recorder.event(
                    "first_batch",
                    perf_counter() - start,
                    loader=getattr(iterator, NUMBER, None),
                    workers=iterator._num_workers,
                )
            recorder.pop()
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
