"""Cuts storages down to what their tensors cover.

Tensors that lie on each other or next to each other go on sharing a storage; what lies apart gets one of
its own. Values, shapes and, where a tensor is dense, strides stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ckpt_doctor.repairs.loaded import Loaded, is_plain, storage_of

if TYPE_CHECKING:
    import torch

Geometry = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Offset, size and strides, in elements."""


class Run(NamedTuple):
    """Tensors that lie on each other or next to each other, from one element of their storage to another."""

    start: int
    stop: int
    tensors: list[torch.Tensor]


def cut(loaded: Loaded, only: Iterable[torch.Tensor] | None = None) -> int:
    """Cut storages where that saves bytes.

    Args:
        loaded: A loaded file.
        only: Tensors whose storages are cut; None for all.

    Returns:
        How many storages were cut.
    """
    import torch

    groups: dict[int, list[torch.Tensor]] = {}
    for tensor in loaded.tensors():
        groups.setdefault(storage_of(tensor), []).append(tensor)
    wanted = groups.keys() if only is None else {storage_of(tensor) for tensor in only if is_plain(tensor)}
    with torch.no_grad():
        return sum(_cut_storage(loaded, group) for key, group in groups.items() if key in wanted)


def _cut_storage(loaded: Loaded, group: list[torch.Tensor]) -> bool:
    """Cut the storage that all tensors of a group share; whether that saved anything."""
    held_bytes = group[0].untyped_storage().nbytes()
    if len({tensor.dtype for tensor in group}) > 1 or any(_covers(tensor, held_bytes) for tensor in group):
        return False
    pieces = [(tensor, fresh) for run in _runs(group) for tensor, fresh in _rebuilt(run)]
    sizes = {storage_of(fresh): fresh.untyped_storage().nbytes() for _, fresh in pieces}
    if sum(sizes.values()) >= held_bytes:
        return False
    for tensor, fresh in pieces:
        loaded.replace(tensor, fresh)
    return True


def _covers(tensor: torch.Tensor, held_bytes: int) -> bool:
    """Whether a tensor needs every byte of its storage."""
    return tensor.numel() == _extent(tensor) and tensor.nbytes >= held_bytes


def _runs(group: list[torch.Tensor]) -> list[Run]:
    """The tensors of one storage, parted where no tensor covers what lies between."""
    runs: list[Run] = []
    for tensor in sorted(group, key=lambda each: each.storage_offset()):
        start = int(tensor.storage_offset())
        stop = start + _extent(tensor)
        if runs and start <= runs[-1].stop:
            last = runs[-1]
            runs[-1] = Run(last.start, max(last.stop, stop), [*last.tensors, tensor])
        else:
            runs.append(Run(start, stop, [tensor]))
    return runs


def _extent(tensor: torch.Tensor) -> int:
    """How many elements lie from the first to the last one of a tensor."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True))


def _rebuilt(run: Run) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each tensor of a run, and the same values in storages without holes; in one, where they overlap."""
    tensors = [tensor.detach() for tensor in run.tensors]
    if _has_holes(run):
        alone: dict[Geometry, torch.Tensor] = {}
        for tensor in tensors:
            if _geometry(tensor) not in alone:
                alone[_geometry(tensor)] = tensor.clone()
        return [(old, alone[_geometry(each)]) for old, each in zip(run.tensors, tensors, strict=True)]
    whole = tensors[0].as_strided((run.stop - run.start,), (1,), run.start).clone()
    return [
        (old, whole.as_strided(each.size(), each.stride(), each.storage_offset() - run.start))
        for old, each in zip(run.tensors, tensors, strict=True)
    ]


def _has_holes(run: Run) -> bool:
    """Whether the tensors of a run leave elements out and can part: none lies on another."""
    import torch

    covered = torch.zeros(run.stop - run.start, dtype=torch.bool)
    for offset, size, stride in {_geometry(tensor) for tensor in run.tensors}:
        if any(length > 1 and step == 0 for length, step in zip(size, stride, strict=True)):
            return False
        view = covered.as_strided(size, stride, offset - run.start)
        if view.any():
            return False
        view.fill_(True)
    return not bool(covered.all())


def _geometry(tensor: torch.Tensor) -> Geometry:
    return int(tensor.storage_offset()), tuple(tensor.size()), tuple(tensor.stride())
