"""torch.save before PyTorch 1.6, and tensors within ordinary pickles: a stream of five pickles.

Magic number, protocol version, ``sys_info``, the object, the storage keys; then for each storage
its number of elements and its bytes. Source: ``_legacy_load`` and ``_legacy_save`` in
``torch/serialization.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from ckpt_doctor.readers.limits import MAX_DEPTH, Budget, Malformed
from ckpt_doctor.readers.pickles import Decoded, decode_growing
from ckpt_doctor.readers.sources import Memory, Source
from ckpt_doctor.readers.storages import StorageTable
from ckpt_doctor.readers.tree import Global, Node

MAGIC = bytes.fromhex("8a0a6cfc9c46f9206aa85019")
"""LONG1 of torch's magic number, which stands within the first 16 bytes."""
PROTOCOL = 1001


class Stream(NamedTuple):
    """A decoded stream."""

    root: Node
    globals: tuple[Global, ...]
    payload_bytes: int
    notes: tuple[str, ...]
    missing_parts: tuple[str, ...]


def is_stream(head: bytes) -> bool:
    """Whether a file begins like such a stream."""
    return head[:1] == b"\x80" and MAGIC in head[:32]


def decode_stream(source: Source, budget: Budget, depth: int = 0) -> Stream:
    """Decode the object of a stream; the storages are only counted.

    Raises:
        Malformed: It is damaged or exceeds a limit.
    """
    if depth >= MAX_DEPTH:
        raise Malformed("its pickles are nested too deep")
    table = StorageTable()
    offset = 0

    def next_pickle(first_bytes: int) -> Decoded:
        nonlocal offset
        decoded = decode_growing(
            source.read,
            offset,
            source.size_bytes - offset,
            budget,
            persistent=table.load,
            nested=lambda raw: decode_nested(raw, budget, depth + 1),
            first_bytes=first_bytes,
        )
        offset += decoded.end
        return decoded

    next_pickle(512)
    if next_pickle(512).value != PROTOCOL:
        raise Malformed(f"its stream has another protocol version than {PROTOCOL}")
    system = next_pickle(1024).value
    decoded = next_pickle(1 << 18)
    keys = next_pickle(1 << 14).value
    missing = _check_length(keys, table, source.size_bytes - offset)
    notes = []
    if isinstance(system, dict) and system.get("little_endian") is False:
        notes.append("it was saved on a big-endian machine")
    return Stream(decoded.value, decoded.globals, offset, tuple(notes), tuple(missing))


def decode_nested(data: bytes, budget: Budget, depth: int) -> Node:
    """The object of a stream that is an argument within another pickle.

    Raises:
        Malformed: It is damaged or exceeds a limit.
    """
    if not is_stream(data[:32]):
        raise Malformed("a tensor within its pickle is not what torch.save writes")
    return decode_stream(Memory("", data), budget, depth).root


def _check_length(keys: Node, table: StorageTable, rest: int) -> list[str]:
    if not isinstance(keys, list):
        return ["its list of storages is missing"]
    known = [table.by_key[key] for key in keys if isinstance(key, str) and key in table.by_key]
    needed = 8 * len(keys) + sum(storage.size_bytes for storage in known)
    if needed > rest:
        return [f"it is cut short: its storages need {needed:,} bytes and {rest:,} are there"]
    return []
