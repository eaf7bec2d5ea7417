"""Copies of state that live on the CPU and that ``torch.load(weights_only=True)`` takes.

A copy holds what it needs and no more: a view does not drag its whole storage along, and tensors
that share memory (tied weights) share it in the copy too.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import torch

from ckpt_doctor.errors import UsageError

_ATOMS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size)

_Seen = dict[tuple[Any, ...], torch.Tensor]


def plain_copy(value: Any, where: str) -> Any:
    """A copy of nested containers with every tensor on the CPU.

    A sharded tensor (DTensor) keeps its device: torch.distributed.checkpoint moves its shards.

    Args:
        value: Tensors, numbers, text and None, in dicts, lists and tuples.
        where: What it is part of, for messages.

    Raises:
        UsageError: Something in it could not be loaded with ``weights_only=True``.
    """
    return _copy(value, where, {})


def is_sharded(value: object) -> bool:
    """Whether a value is a DTensor, of which each rank holds a part.

    Its class moved between versions of torch, and its module is slow to import: the name tells.
    """
    return isinstance(value, torch.Tensor) and type(value).__name__ == "DTensor"


def _copy(value: Any, where: str, seen: _Seen) -> Any:
    kind = type(value)
    if kind in (torch.Tensor, torch.nn.Parameter) or is_sharded(value):
        return _copy_tensor(value, seen)
    if kind in _ATOMS:
        return value
    if kind in (list, tuple):
        return kind(_copy(item, f"{where}[{index}]", seen) for index, item in enumerate(value))
    if kind in (dict, OrderedDict, Counter, defaultdict):
        return _copy_dict(value, where, seen)
    raise UsageError(
        f"{where} is a {kind.__module__}.{kind.__qualname__}: it could not be loaded with weights_only=True",
        hint="give tensors, numbers, text, lists and dicts of them (array.tolist(), float(value))",
    )


def _copy_dict(value: Any, where: str, seen: _Seen) -> Any:
    items = {}
    for key, item in value.items():
        if type(key) not in _ATOMS:
            raise UsageError(f"{where} has a key that is a {type(key).__name__}", hint="use text or numbers")
        items[key] = _copy(item, f"{where}.{key}", seen)
    if type(value) is Counter:
        return Counter(items)
    if type(value) is not OrderedDict:
        return items
    ordered = OrderedDict(items)
    # A module's state dict carries the versions of its layers as an attribute.
    vars(ordered).update(_copy(vars(value), where, seen))
    return ordered


def _copy_tensor(tensor: torch.Tensor, seen: _Seen) -> torch.Tensor:
    if is_sharded(tensor) or tensor.layout is not torch.strided:
        return tensor.detach().clone()
    place = (
        tensor.device,
        tensor.untyped_storage().data_ptr(),
        tensor.storage_offset(),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.dtype,
    )
    if tensor.numel() == 0 or place not in seen:
        seen[place] = tensor.detach().to("cpu", copy=True)
    return seen[place]
