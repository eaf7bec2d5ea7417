"""Persistent ids of torch.save: ``("storage", class, key, device, numel, ...)``."""

from __future__ import annotations

from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.tensors import storage_dtype
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import ITEM_BITS, Node, Storage

_MAX_STORAGE_BYTES = 1 << 50


class StorageTable:
    """The storages that one pickle refers to, each once."""

    def __init__(self) -> None:
        self.by_key: dict[str, Storage] = {}

    def load(self, pid: Node) -> Node:
        """The node of a persistent id.

        Raises:
            Malformed: It is none of torch's.
        """
        if type(pid) is tuple and pid:
            if pid[0] == "storage" and len(pid) >= 5:
                return self._storage(pid)
            if pid[0] == "module" and len(pid) >= 2:
                return pid[1]
        raise Malformed("its pickle refers to something that torch.save does not write")

    def _storage(self, pid: tuple[Node, ...]) -> Storage:
        key = pid[2]
        if not isinstance(key, str):
            raise Malformed("its pickle names a storage without text")
        known = self.by_key.get(key)
        if known is not None:
            return known
        numel = pid[4]
        if type(numel) is not int or not 0 <= numel < _MAX_STORAGE_BYTES:
            raise Malformed(f"its storage {clean(key)} claims an absurd size")
        dtype = storage_dtype(pid[1])
        device = clean(pid[3], 40) if isinstance(pid[3], str) else None
        storage = Storage(key, dtype, device, numel * ITEM_BITS[dtype] // 8)
        self.by_key[key] = storage
        return storage
