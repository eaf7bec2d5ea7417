"""safetensors: the length of a JSON header, the header, the bytes of the tensors.

Source: https://github.com/huggingface/safetensors, ``safetensors/src/tensor.rs``. The library takes
duplicate keys; here they are refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from operator import sub
from typing import NamedTuple

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import MAX_ENTRIES, MAX_JSON_BYTES, Malformed
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import ITEM_BITS, Node, Storage, Tensor, needed_bytes

NAME = "safetensors"
ORDER = 40

_DTYPES: dict[str, str] = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16",
    "BF16": "bfloat16", "I32": "int32", "U32": "uint32", "F32": "float32", "F64": "float64", "I64": "int64",
    "U64": "uint64", "C64": "complex64", "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F4": "float4", "F6_E2M3": "float6_e2m3", "F6_E3M2": "float6_e3m2",
}  # fmt: skip
_MAX_HEADER_IN_MEMORY = 12 << 20
"""JSON can grow thirtyfold in memory; 12 MiB describe about 100 000 tensors."""
_MAX_DIMENSIONS = 64
_MAX_COUNT = 1 << 62
_ENTRIES = (
    r'("([^"\\\x00-\x1f]*)":\{("dtype":"[A-Z0-9_]*","shape":\[[0-9,]*\]),'
    r'"data_offsets":\[(0|[1-9][0-9]{0,17}),(0|[1-9][0-9]{0,17})\]\},)'
)
_METADATA = r'\{(?:"__metadata__":(\{[^{}]*\}),)?'


def claims(reading: Reading) -> bool:
    """A length that fits the file, then an opening brace."""
    head = reading.head
    if len(head) < 10 or head[8:].lstrip(b" ")[:1] != b"{":
        return False
    length = struct.unpack_from("<Q", head)[0]
    return bool(2 <= length <= MAX_JSON_BYTES)


def read(reading: Reading) -> Document:
    """Decode the header.

    Raises:
        Malformed: It contradicts itself or the size of the file, or it exceeds a limit.
    """
    source = reading.source
    length = struct.unpack_from("<Q", reading.head)[0]
    if 8 + length > source.size_bytes:
        raise Malformed("its header claims to be longer than the file: the file is cut short")
    if length > _MAX_HEADER_IN_MEMORY:
        raise Malformed(f"its header has {length:,} bytes, more than the {_MAX_HEADER_IN_MEMORY:,} allowed")
    header = _parse(source.read(8, length))
    data_bytes = source.size_bytes - 8 - length
    root = _tensors(header)
    end_of_all = max(header.ends, default=0)
    if end_of_all > data_bytes:
        raise Malformed(
            f"it is cut short: its tensors need {end_of_all:,} bytes and {data_bytes:,} are there"
        )
    notes = () if end_of_all == data_bytes else ("bytes follow the last tensor, which safetensors refuses",)
    return Document(source.name, NAME, root, payload_bytes=8 + length, metadata=header.metadata, notes=notes)


class _Layout(NamedTuple):
    """What many tensors have in common."""

    dtype: str
    shape: tuple[int, ...]
    needed_bytes: int | None
    """None where the dtype is not known."""


class _Header(NamedTuple):
    """What stands in the header, by columns."""

    names: Sequence[str]
    layouts: Sequence[_Layout]
    begins: Sequence[int]
    ends: Sequence[int]
    metadata: dict[str, str]


def _tensors(header: _Header) -> dict[Node, Node]:
    """The tensors by name, whose bytes have to be as many as their shapes need."""
    root: dict[Node, Node] = {}
    sizes = map(sub, header.ends, header.begins)
    for name, (dtype, shape, needed), size in zip(header.names, header.layouts, sizes, strict=True):
        if size != needed and (needed is not None or size < 0):
            raise _contradiction(name, size, needed)
        root[name] = Tensor(Storage(name, dtype, None, size), dtype, shape)
    return root


def _parse(raw: bytes) -> _Header:
    import json

    try:
        return _written_by_the_library(raw, json.loads) or _written_by_others(raw, json.loads)
    except (ValueError, RecursionError) as error:
        raise Malformed("its header is no valid JSON: the file is damaged or no safetensors file") from error


def _written_by_the_library(raw: bytes, parse: Callable[..., Node]) -> _Header | None:
    """The header in the one form that the library writes; None where it has another.

    Its entries are taken apart by an expression and their layouts, of which there are few, parsed once:
    to make an object of each entry takes twice as long. The matches have to make up the whole text.
    """
    text = raw.decode().rstrip(" ")
    start = re.match(_METADATA, text)
    if start is None or text[-2:] != "}}":
        return None
    body = text[start.end() : -1] + ","
    found = re.findall(_ENTRIES, body)
    if not found:
        return None
    whole, names, kinds, begins, ends = zip(*found, strict=True)
    distinct = {*names, "__metadata__"}
    if sum(map(len, whole)) != len(body) or len(distinct) != len(found) + 1:
        return None
    layouts = {kind: _layout(kind, parse(f"{{{kind}}}")) for kind in set(kinds)}
    metadata = parse(start[1], object_pairs_hook=_no_duplicates) if start[1] else {}
    return _Header(
        names,
        [layouts[kind] for kind in kinds],
        list(map(int, begins)),
        list(map(int, ends)),
        _texts(metadata),
    )


def _written_by_others(raw: bytes, parse: Callable[..., Node]) -> _Header:
    header = parse(raw, object_pairs_hook=_no_duplicates)
    if not isinstance(header, dict) or len(header) > MAX_ENTRIES:
        raise Malformed("its header is no table of tensors")
    metadata = header.pop("__metadata__", {})
    layouts, begins, ends = [], [], []
    for key, entry in header.items():
        layouts.append(_layout(key, entry))
        begin, end = _offsets(key, entry)
        begins.append(begin)
        ends.append(end)
    return _Header(list(header), layouts, begins, ends, _texts(metadata))


def _no_duplicates(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise Malformed("its header has a name twice")
    return table


def _texts(metadata: Node) -> dict[str, str]:
    return {k: v for k, v in metadata.items() if isinstance(v, str)} if isinstance(metadata, dict) else {}


def _layout(key: str, entry: Node) -> _Layout:
    fields: dict[str, Node] = entry if isinstance(entry, dict) else {}
    dtype, shape = fields.get("dtype"), _counts(fields.get("shape"))
    if not isinstance(dtype, str) or shape is None or len(shape) > _MAX_DIMENSIONS:
        raise _wrong(key)
    name = _DTYPES.get(dtype, clean(dtype.lower(), 40))
    return _Layout(name, shape, needed_bytes(name, shape) if name in ITEM_BITS else None)


def _offsets(key: str, entry: Node) -> tuple[int, int]:
    offsets = _counts(entry.get("data_offsets"))
    if offsets is None or len(offsets) != 2:
        raise _wrong(key)
    return offsets[0], offsets[1]


def _counts(values: Node) -> tuple[int, ...] | None:
    if isinstance(values, list) and all(type(v) is int and 0 <= v < _MAX_COUNT for v in values):
        return tuple(values)
    return None


def _wrong(key: str) -> Malformed:
    return Malformed(f"its header describes the tensor {clean(key)} wrongly")


def _contradiction(key: str, size: int, needed: int | None) -> Malformed:
    if size < 0:
        return _wrong(key)
    return Malformed(f"its header gives the tensor {clean(key)} {size:,} bytes, its shape {needed:,}")
