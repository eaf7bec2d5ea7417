"""torch.save of PyTorch 0.1: a tar archive with the files ``pickle``, ``tensors`` and ``storages``.

The object is in ``pickle`` and refers to tensors and storages by numbers. ``storages`` holds for each a
pickle of its number, device and class, then its number of elements and its bytes; ``tensors`` for each a
pickle of its number, its storage's and its class, then its sizes and strides. Source: ``legacy_load``
in ``torch/serialization.py``.
"""

from __future__ import annotations

import struct

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import MAX_ENTRIES, MAX_PICKLE_BYTES, Budget, Malformed
from ckpt_doctor.readers.pickles import decode, decode_growing
from ckpt_doctor.readers.sources import Source
from ckpt_doctor.readers.storages import StorageTable
from ckpt_doctor.readers.tree import Node, Storage, Tensor

NAME = "torch_tar"
ORDER = 35

_FILES = ("pickle", "tensors", "storages")
_MAX_DIMENSIONS = 64
_MAX_SIZE = 1 << 50
_FIRST_BYTES = 512
"""The pickles of storages and tensors are short, and what follows them is long."""


def claims(reading: Reading) -> bool:
    """A tar archive with these files."""
    return reading.is_tar and all(name in reading.tar for name in _FILES)


def read(reading: Reading) -> Document:
    """Decode the object; of storages and tensors only what describes them.

    Raises:
        Malformed: The archive is damaged or exceeds a limit.
    """
    tar, budget = reading.tar, reading.budget
    objects = _storages(_Cursor(tar.window("storages"), budget))
    objects.update(_tensors(_Cursor(tar.window("tensors"), budget), objects))
    source = tar.window("pickle")
    if source.size_bytes > MAX_PICKLE_BYTES:
        raise Malformed(
            f"its pickle has {source.size_bytes:,} bytes, more than the {MAX_PICKLE_BYTES:,} allowed"
        )

    def load(pid: Node) -> Node:
        """An object by its number; of a class with its source text the class."""
        if isinstance(pid, tuple) and pid:
            return pid[0]
        known = objects.get(int(pid)) if isinstance(pid, (int, str)) else None
        if known is None:
            raise Malformed("its pickle refers to a tensor or storage that it lacks")
        return known

    decoded = decode(source.read(0, source.size_bytes), budget, persistent=load)
    return Document(
        reading.source.name, NAME, decoded.value, decoded.globals, payload_bytes=source.size_bytes
    )


class _Cursor:
    """A place in a file of pickles with other bytes between them."""

    def __init__(self, source: Source, budget: Budget) -> None:
        self._source = source
        self._budget = budget
        self._at = 0

    def pickle(self) -> Node:
        """The next pickle's value."""
        left = self._source.size_bytes - self._at
        decoded = decode_growing(self._source.read, self._at, left, self._budget, first_bytes=_FIRST_BYTES)
        self._at += decoded.end
        return decoded.value

    def numbers(self, layout: str) -> tuple[int, ...]:
        """The next numbers, laid out as for ``struct``."""
        size = struct.calcsize(layout)
        raw = self._source.read(self._at, size)
        if len(raw) < size:
            raise Malformed("its list of tensors is cut short")
        self._at += size
        return struct.unpack(layout, raw)

    def skip(self, size: int) -> None:
        """Pass bytes that are there.

        Raises:
            Malformed: They are not.
        """
        self._at += size
        if self._at > self._source.size_bytes:
            raise Malformed("its storages are cut short")

    def count(self) -> int:
        """The next pickle's value, which says how many follow."""
        value = self.pickle()
        if type(value) is not int or not 0 <= value <= MAX_ENTRIES:
            raise Malformed("its list of tensors or storages has no length")
        return value


def _storages(cursor: _Cursor) -> dict[int, Node]:
    """Storages and views of them by number; their elements are passed over."""
    table = StorageTable()
    objects: dict[int, Node] = {}
    for _ in range(cursor.count()):
        number, device, maker = _three(cursor.pickle())
        numel = cursor.numbers("<q")[0]
        storage = table.load(("storage", maker, str(number), device, numel))
        cursor.skip(storage.size_bytes)
        objects[number] = storage
    views = cursor.pickle()
    for view in views if isinstance(views, list) else ():
        numbers = view[:2] if isinstance(view, tuple) else ()
        if [type(number) for number in numbers] == [int, int] and numbers[1] in objects:
            objects[numbers[0]] = objects[numbers[1]]
    return objects


def _tensors(cursor: _Cursor, storages: dict[int, Node]) -> dict[int, Node]:
    """Tensors by number."""
    tensors: dict[int, Node] = {}
    for _ in range(cursor.count()):
        number, of, _ = _three(cursor.pickle())
        storage = storages.get(of) if type(of) is int else None
        dimensions = cursor.numbers("<ii")[0]
        if not isinstance(storage, Storage) or not 0 <= dimensions <= _MAX_DIMENSIONS:
            raise Malformed("its list of tensors is damaged")
        shape = cursor.numbers(f"<{dimensions}q")
        cursor.numbers(f"<{dimensions + 1}q")
        if not all(0 <= size < _MAX_SIZE for size in shape):
            raise Malformed("its list of tensors is damaged")
        tensors[number] = Tensor(storage, storage.dtype, shape)
    return tensors


def _three(record: Node) -> tuple[int, Node, Node]:
    """What describes a storage or a tensor, its number first."""
    if isinstance(record, tuple) and len(record) == 3 and type(record[0]) is int:
        return record
    raise Malformed("its list of tensors or storages is damaged")
