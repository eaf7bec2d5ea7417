"""torch.distributed.checkpoint (DCP): ``.metadata`` describes what lies in the ``*.distcp`` files.

Tensors are described by the metadata alone. Everything else (steps, flags, schedulers) is a torch.save
archive of about a kilobyte at an offset of a ``.distcp`` file; those slices are read, the most telling
ones first, up to a limit. Source: ``torch/distributed/checkpoint/{metadata,filesystem}.py``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from ckpt_doctor.readers.checkpoints import torch_zip
from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import MAX_PICKLE_BYTES, Malformed
from ckpt_doctor.readers.pickles import decode, decode_growing
from ckpt_doctor.readers.sources import Memory, Source
from ckpt_doctor.readers.tensors import dtype_name
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import Blob, Global, Key, Node, Record, Tensor

NAME = "dcp"
ORDER = 55

_MARK = b"torch.distributed.checkpoint.metadata"
_MAX_SLICES = 600
_MAX_SLICE_BYTES = 1 << 20
_MEGATRON = (
    r"((?:chained_\d+\.)?optimizer)\."
    r"(?:state\.(exp_avg|exp_avg_sq|momentum_buffer|fp32_param|param)\.(.+)|(distributed\..+))"
)
_UNREAD = Global("torch.distributed.checkpoint", "value that was not read")


def claims(reading: Reading) -> bool:
    """A pickle whose first class is DCP's ``Metadata``."""
    return reading.head[:1] == b"\x80" and _MARK in reading.head[:256]


def read(reading: Reading) -> Document:
    """Decode the metadata and the small values that it points to.

    Raises:
        Malformed: The metadata is damaged or exceeds a limit.
    """
    size = reading.source.size_bytes
    decoded = decode_growing(reading.source.read, 0, min(size, MAX_PICKLE_BYTES), reading.budget)
    fields = decoded.value.attributes() if isinstance(decoded.value, Record) else {}
    described = fields.get("state_dict_metadata")
    if not isinstance(described, dict):
        raise Malformed("its metadata lists no state")
    places = _places(fields.get("storage_data"))
    values = _Values(reading, places)
    root: dict[Node, Node] = {}
    plans = fields.get("planner_data")
    for name in _telling_first(described):
        path = _path(name, plans)
        _put(root, path, _leaf(name, described[name], values))
    folder = posixpath.dirname(reading.source.name)
    payload = frozenset(posixpath.join(folder, file) for file, _, _ in places.values())
    return Document(
        reading.source.name,
        NAME,
        root,
        decoded.globals,
        size,
        notes=values.notes(),
        missing_parts=values.missing(),
        payload_files=payload,
    )


def _places(storage_data: Node) -> dict[str, tuple[str, int, int]]:
    """File, offset and length by the name of the value; of a sharded tensor the last shard."""
    places: dict[str, tuple[str, int, int]] = {}
    if isinstance(storage_data, dict):
        for key, info in storage_data.items():
            index = key.value if isinstance(key, Key) else None
            if not isinstance(index, Record) or not isinstance(info, Record):
                continue
            name = index.attributes().get("fqn")
            at = info.attributes()
            file, offset, length = at.get("relative_path"), at.get("offset"), at.get("length")
            if (
                isinstance(name, str)
                and isinstance(file, str)
                and type(offset) is int
                and type(length) is int
            ):
                places[f"{name}\0{len(places)}" if name in places else name] = (file, offset, length)
    return places


def _telling_first(described: dict[Node, Node]) -> Iterator[str]:
    """Names in an order that spends the limit on counters first, on options of late groups last."""
    names = [name for name in described if isinstance(name, str)]
    yield from (name for name in names if ".param_groups." not in name)
    yield from (name for name in names if ".param_groups." in name)


def _path(name: str, plans: Node) -> tuple[str | int, ...]:
    """Keys that lead to a value: the planner's, with flat names of optimizer state taken apart.

    torchtitan puts the slot (``exp_avg``) behind the parameter's name, Megatron before it.
    """
    plan = plans.get(name) if isinstance(plans, dict) else None
    if not isinstance(plan, tuple) or not plan or not all(isinstance(step, (str, int)) for step in plan):
        plan = (name,)
    last = plan[-1]
    if isinstance(last, str):
        of_megatron = re.fullmatch(_MEGATRON, last)
        if of_megatron is not None:
            optimizer, slot, parameter, rest = of_megatron.groups()
            return (*plan[:-1], optimizer, *(("state", parameter, slot) if slot else (rest,)))
        for part in ("state", "param_groups"):
            if last.startswith(f"{part}."):
                parameter, _, key = last[len(part) + 1 :].rpartition(".")
                return (*plan[:-1], part, parameter, key)
    return plan


def _put(root: dict[Node, Node], path: tuple[str | int, ...], leaf: Node) -> None:
    at = root
    for step in path[:-1]:
        below = at.setdefault(step, {})
        if not isinstance(below, dict):
            return
        at = below
    at[path[-1]] = leaf


def _leaf(name: str, description: Node, values: _Values) -> Node:
    if not isinstance(description, Record):
        return None
    fields = description.attributes()
    size = fields.get("size")
    if isinstance(size, tuple) and all(type(n) is int and n >= 0 for n in size):
        return _tensor(name, size, fields.get("properties"))
    return values.read(name)


def _tensor(name: str, shape: tuple[int, ...], properties: Node) -> Tensor:
    dtype = None
    if isinstance(properties, Record):
        state = properties.state
        first = state[0] if isinstance(state, tuple) and state else properties.attributes().get("dtype")
        dtype = dtype_name(first)
    return Tensor(None, dtype or "untyped", shape).give_storage(name)


class _Values:
    """Reads values out of the ``.distcp`` files beside the metadata."""

    def __init__(self, reading: Reading, places: dict[str, tuple[str, int, int]]) -> None:
        self._reading = reading
        self._places = places
        self._folder = posixpath.dirname(reading.source.name)
        self._sources: dict[str, Source | None] = {}
        self._left = _MAX_SLICES
        self._unread = 0

    def read(self, name: str) -> Node:
        file, offset, length = self._places.get(name, ("", 0, 0))
        source = self._source(file) if file else None
        if source is None or self._left <= 0 or not 0 < length <= _MAX_SLICE_BYTES or offset < 0:
            self._unread += 1
            return Record(_UNREAD, ())
        self._left -= 1
        raw = source.read(offset, length)
        try:
            return self._decoded(raw)
        except Malformed:
            self._unread += 1
            return Record(_UNREAD, ())

    def _decoded(self, raw: bytes) -> Node:
        document = torch_zip.read(Reading(Memory("", raw), self._reading.budget))
        inner = _bytes_within(document.root)
        if inner is not None and inner[:1] == b"\x80":
            return decode(inner, self._reading.budget).value
        return document.root

    def _source(self, file: str) -> Source | None:
        if file not in self._sources:
            self._sources[file] = self._reading.sibling(posixpath.join(self._folder, file))
        return self._sources[file]

    def notes(self) -> tuple[str, ...]:
        """What was not read."""
        return (f"{self._unread} small values were not read",) if self._unread else ()

    def missing(self) -> tuple[str, ...]:
        """What is missing of the files."""
        needed: dict[str, int] = {}
        for file, offset, length in self._places.values():
            needed[file] = max(needed.get(file, 0), offset + length)
        missing = []
        for file, end in sorted(needed.items()):
            source = self._source(file)
            if source is None:
                missing.append(f"its file {clean(file)} is missing")
            elif source.size_bytes < end:
                missing.append(f"its file {clean(file)} is cut short: {source.size_bytes:,} bytes of {end:,}")
        return tuple(missing)


def _bytes_within(node: Node) -> bytes | None:
    """Bytes that are a pickle of their own: torchtitan's loader state, a BytesIO."""
    if isinstance(node, Record) and node.class_path.endswith("BytesIO") and isinstance(node.state, tuple):
        node = node.state[0] if node.state else None
    if isinstance(node, Blob) and not node.is_text:
        return bytes(node.view)
    return node if isinstance(node, bytes) else None
