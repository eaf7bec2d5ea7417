"""The objects of one file of a checkpoint in memory, and how they become a file again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Places = dict[int, tuple["torch.UntypedStorage", str]]
"""Storages that did not lie on the CPU at the save, by their address, and where they lay.

They are held here so that none of their addresses is given away again.
"""


class Loaded:
    """One loaded file.

    A tensor gets its new elements in place, so that everything that holds it, be it a tuple or two keys of
    one dict, goes on sharing it.

    Args:
        root: What the file holds; its tensors are on the CPU.
        places: Where they lay at the save.
        write: Writes a root to a new file, each storage placed where it is told to have lain.
    """

    def __init__(self, root: Any, places: Places, write: Callable[[Any, Places, Path], None]) -> None:
        self.root = root
        self.is_changed = False
        self._places = places
        self._write = write
        self._bytes_at_load = self._storage_bytes()

    @property
    def saved_bytes(self) -> int:
        """Bytes of storages that are held no longer."""
        return self._bytes_at_load - self._storage_bytes()

    def tensors(self) -> Iterator[torch.Tensor]:
        """Every tensor whose elements lie in a storage in the plain way, once."""
        return (tensor for tensor in tensors_in(self.root) if is_plain(tensor))

    def replace(self, tensor: torch.Tensor, fresh: torch.Tensor) -> None:
        """Give a tensor the elements of another one, which lie where its own did."""
        lain = self._places.get(storage_of(tensor))
        if lain is not None:
            self._places[storage_of(fresh)] = (fresh.untyped_storage(), lain[1])
        tensor.data = fresh

    def place(self, tensor: torch.Tensor) -> str:
        """Where a tensor is placed by a load without ``map_location``."""
        lain = self._places.get(storage_of(tensor))
        return "cpu" if lain is None else lain[1]

    def place_on_cpu(self, tensor: torch.Tensor) -> None:
        """Place the storage of a tensor on the CPU."""
        self._places.pop(storage_of(tensor), None)

    def place_all_on_cpu(self, kind: str) -> dict[str, int]:
        """Place the storages of one kind of device on the CPU; how many there were on each."""
        moved = [key for key, (_, place) in self._places.items() if place.partition(":")[0] == kind]
        return dict(sorted(Counter(self._places.pop(key)[1] for key in moved).items()))

    def write(self, path: Path) -> None:
        """Write the file anew."""
        self._write(self.root, self._places, path)

    def _storage_bytes(self) -> int:
        return sum(
            {storage_of(tensor): tensor.untyped_storage().nbytes() for tensor in self.tensors()}.values()
        )


def tensors_in(root: Any) -> Iterator[torch.Tensor]:
    """Every tensor that containers hold, once."""
    import torch

    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        if isinstance(node, torch.Tensor):
            seen.add(id(node))
            yield node
        elif isinstance(node, (dict, list, tuple)):
            seen.add(id(node))
            stack.extend(node.values() if isinstance(node, dict) else node)


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is nothing but a view on its storage: no subclass, not sparse, not quantised."""
    import torch

    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not (tensor.is_quantized or tensor.is_nested or tensor.is_conj() or tensor.is_neg())
    )


def storage_of(tensor: torch.Tensor) -> int:
    """The address of a tensor's storage: equal for tensors that share one."""
    return int(tensor.untyped_storage()._cdata)
