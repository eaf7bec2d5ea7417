"""Which samples fed each step: a digest of the indices that the sampler drew."""

from __future__ import annotations

import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from ctypes import c_char, string_at
from functools import partial
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Digest, Recorder, Signal

SIGNALS = (
    Signal("sample_order", "digest", "data", "CRC-32 of a batch's sample indices, or of its middle elements"),
)
NEEDS = ("torch.utils.data.dataloader",)

ELEMENTS_HASHED, ELEMENTS_FLATTENED = 16, 4096
"""Of a tensor that is not contiguous: what is hashed, and the most that is copied for it."""
BYTES_HASHED = 256
"""Of a contiguous tensor."""
_Bytes = c_char * BYTES_HASHED
DRAWN = "_ckpt_doctor_drawn"
"""Attribute of an iterator: what identifies the batches that have been drawn and not given out, in order."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Note what ``_next_index`` draws: the batches arrive in the same order (signals.hooks.data_wait)."""

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
    recorder.identify = partial(_word_of_batch, module.torch)


def _are_none(indices: Any) -> bool:
    """Data sets that are iterated have a sampler that yields nothing but None."""
    return indices is None or (isinstance(indices, list) and all(index is None for index in indices[:2]))


def _word_of_indices(indices: Any) -> str:
    try:
        data = array("q", indices).tobytes()
    except (TypeError, OverflowError):
        data = repr(indices)[:4096].encode()
    return f"i:{zlib.crc32(data):08x}"


def _word_of_batch(torch: ModuleType, batch: Any) -> Digest | None:
    """What identifies a batch by the middle of its first CPU tensor; None where there is none."""
    tensor = _first_tensor(batch, torch.Tensor, depth=4)
    if tensor is None or not tensor.is_cpu:
        return None
    contiguous = type(tensor) is torch.Tensor and tensor.layout is torch.strided and tensor.is_contiguous()
    data = _middle_bytes(tensor) if contiguous else _middle_elements(tensor)
    return partial(_word_of_bytes, data) if data else None


def _middle_bytes(tensor: Any) -> bytes | None:
    """Some bytes of a contiguous tensor as they lie in memory; None where its storage has been freed.

    After a step nothing of this is in the caches, and an operator of torch takes 20 µs or more there.
    """
    size_bytes = tensor.nbytes
    if tensor.untyped_storage().nbytes() < tensor.storage_offset() * tensor.itemsize + size_bytes:
        return None
    address = tensor.data_ptr()
    if size_bytes < 2 * BYTES_HASHED:
        return string_at(address, size_bytes)
    return _Bytes.from_address(address + size_bytes // 2).raw


def _middle_elements(tensor: Any) -> bytes | None:
    """Some elements of any other tensor, as text; None of those that cannot be cut, like sparse ones."""
    middle = tensor.detach()
    try:
        while middle.dim() > 1 and middle.numel() > ELEMENTS_FLATTENED:
            middle = middle[len(middle) // 2]
        middle = middle.reshape(-1)
        start = (middle.numel() // 2) if middle.numel() > 2 * ELEMENTS_HASHED else 0
        elements = middle[start : start + ELEMENTS_HASHED].tolist()
    except RuntimeError:
        return None
    return repr(elements).encode() if elements else None


def _word_of_bytes(data: bytes) -> str:
    return f"b:{zlib.crc32(data):08x}"


def _first_tensor(item: Any, tensor_type: type, depth: int) -> Any:
    if isinstance(item, tensor_type):
        return item
    if depth == 0:
        return None
    for child in _children(item):
        found = _first_tensor(child, tensor_type, depth - 1)
        if found is not None:
            return found
    return None


def _children(item: Any) -> Iterable[Any]:
    """What a batch is made of: the types that are known come first, asking an abstract one takes long."""
    if isinstance(item, (list, tuple)):
        return item
    return item.values() if isinstance(item, (dict, Mapping)) else ()
