"""torchsnapshot: ``.snapshot_metadata`` lists every value of a snapshot in a manifest.

The keys of the manifest are ``<rank>/<path>``; tensors have dtype and shape, plain values stand in it.
Source: https://github.com/pytorch/torchsnapshot, ``torchsnapshot/manifest.py``.
"""

from __future__ import annotations

import posixpath

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.tree import Global as Name
from ckpt_doctor.readers.tree import Node, Record, Tensor

NAME = "torchsnapshot"
ORDER = 48

_MAX_BYTES = 12 << 20
_CONTAINERS = ("dict", "OrderedDict", "list")


def claims(reading: Reading) -> bool:
    """JSON with a version, a world size and a manifest."""
    head = reading.head
    return head.lstrip()[:1] == b"{" and b'"manifest"' in head and b'"world_size"' in head


def read(reading: Reading) -> Document:
    """Build the tree that the manifest describes, of rank 0 and of what is its own in other ranks.

    Raises:
        Malformed: The manifest is damaged or too long.
    """
    import json

    source = reading.source
    if source.size_bytes > _MAX_BYTES:
        raise Malformed(f"its manifest has {source.size_bytes:,} bytes, more than the {_MAX_BYTES:,} allowed")
    try:
        manifest = json.loads(source.read(0, source.size_bytes)).get("manifest")
    except (ValueError, RecursionError, AttributeError) as error:
        raise Malformed("its manifest is no valid JSON: the file is damaged or cut short") from error
    if not isinstance(manifest, dict):
        raise Malformed("its manifest is no table")
    root: dict[Node, Node] = {}
    folder = posixpath.dirname(source.name)
    payload = set()
    for key, entry in manifest.items():
        if not isinstance(entry, dict):
            continue
        location = entry.get("location")
        if isinstance(location, str):
            payload.add(posixpath.join(folder, location))
        if entry.get("type") not in _CONTAINERS:
            _put(root, key.split("/")[1:], _leaf(key, entry))
    return Document(
        source.name, NAME, root, payload_bytes=source.size_bytes, payload_files=frozenset(payload)
    )


def _put(root: dict[Node, Node], path: list[str], leaf: Node) -> None:
    if not path:
        return
    at = root
    for step in path[:-1]:
        below = at.setdefault(step, {})
        if not isinstance(below, dict):
            return
        at = below
    at.setdefault(path[-1], leaf)


def _leaf(key: str, entry: dict[str, Node]) -> Node:
    kind = entry.get("type")
    if isinstance(kind, str) and kind.endswith("Tensor"):
        dtype = str(entry.get("dtype", "")).removeprefix("torch.")
        shape = entry.get("shape")
        if isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape):
            return Tensor(None, dtype, tuple(shape)).give_storage(key)
    value = entry.get("serialized_value", entry.get("readable"))
    if kind in ("int", "float") and isinstance(value, (str, int, float)):
        return _number(str(entry.get("readable") or value))
    return value if kind in ("str", "bool") else Record(Name("torchsnapshot", str(kind)), ())


def _number(text: str) -> Node:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return Record(Name("torchsnapshot", "number"), ())
