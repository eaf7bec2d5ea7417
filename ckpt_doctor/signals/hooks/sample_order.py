"""Which samples fed each step: a digest of the indices that the sampler drew."""

from __future__ import annotations

import zlib
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("sample_order", "digest", "data", "CRC-32 of a batch's sample indices, or of its first elements"),
)
NEEDS = ("torch.utils.data.dataloader",)

ELEMENTS_HASHED = 16
DRAWN = "_ckpt_doctor_drawn"
"""Attribute of an iterator: what identifies the batches that have been drawn and not given out, in order."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Note what ``_next_index`` draws: the batches arrive in the same order (signals.hooks.data_wait)."""
    tensor_type = module.torch.Tensor

    def make_next_index(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def next_index(iterator: Any) -> Any:
            indices = original(iterator)
            drawn = getattr(iterator, DRAWN, None)
            if drawn is None:
                drawn = deque()
                setattr(iterator, DRAWN, drawn)
            if type(indices) is list and indices and type(indices[0]) is int:
                # A sampler may fill the same list again: the word is worked out later, from a copy.
                drawn.append(partial(_word_of_indices, tuple(indices)))
            else:
                drawn.append(None if _are_none(indices) else _word_of_indices(indices))
            return indices

        return next_index

    def make_reset(original: Callable[..., Any]) -> Callable[..., Any]:
        def reset(iterator: Any, *args: Any, **kwargs: Any) -> Any:
            setattr(iterator, DRAWN, deque())
            return original(iterator, *args, **kwargs)

        return reset

    base = module._BaseDataLoaderIter
    recorder.wrap(base, "_next_index", make_next_index)
    recorder.wrap(base, "_reset", make_reset)
    recorder.identify = partial(_word_of_batch, tensor_type)


def _are_none(indices: Any) -> bool:
    """Data sets that are iterated have a sampler that yields nothing but None."""
    return indices is None or (isinstance(indices, list) and all(index is None for index in indices[:2]))


def _word_of_indices(indices: Any) -> str:
    try:
        data = array("q", indices).tobytes()
    except (TypeError, OverflowError):
        data = repr(indices)[:4096].encode()
    return f"i:{zlib.crc32(data):08x}"


def _word_of_batch(tensor_type: type, batch: Any) -> str | None:
    """What identifies a batch by the first elements of the first CPU tensor; None where there is none."""
    tensor = _first_tensor(batch, tensor_type, depth=4)
    if tensor is None or tensor.device.type != "cpu" or not tensor.numel():
        return None
    middle = tensor.detach().reshape(-1)
    start = (middle.numel() // 2) if middle.numel() > 2 * ELEMENTS_HASHED else 0
    return f"b:{zlib.crc32(repr(middle[start : start + ELEMENTS_HASHED].tolist()).encode()):08x}"


def _first_tensor(item: Any, tensor_type: type, depth: int) -> Any:
    if isinstance(item, tensor_type):
        return item
    if depth == 0:
        return None
    children = item.values() if isinstance(item, Mapping) else item if isinstance(item, (list, tuple)) else ()
    for child in children:
        found = _first_tensor(child, tensor_type, depth - 1)
        if found is not None:
            return found
    return None
