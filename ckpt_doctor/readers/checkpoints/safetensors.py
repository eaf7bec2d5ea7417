"""safetensors: the length of a JSON header, the header, the bytes of the tensors.

Source: https://github.com/huggingface/safetensors, ``safetensors/src/tensor.rs``. The library takes
duplicate keys; here they are refused.
"""

from __future__ import annotations

import struct

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import MAX_ENTRIES, MAX_JSON_BYTES, Malformed
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import ITEM_BITS, Node, Storage, Tensor

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
    metadata = header.pop("__metadata__", {})
    data_bytes = source.size_bytes - 8 - length
    root: dict[Node, Node] = {}
    end_of_all = 0
    for key, entry in header.items():
        root[key], end = _tensor(key, entry)
        end_of_all = max(end_of_all, end)
    if end_of_all > data_bytes:
        raise Malformed(
            f"it is cut short: its tensors need {end_of_all:,} bytes and {data_bytes:,} are there"
        )
    notes = () if end_of_all == data_bytes else ("bytes follow the last tensor, which safetensors refuses",)
    texts = {k: v for k, v in metadata.items() if isinstance(v, str)} if isinstance(metadata, dict) else {}
    return Document(source.name, NAME, root, payload_bytes=8 + length, metadata=texts, notes=notes)


def _parse(raw: bytes) -> dict[str, Node]:
    import json

    try:
        header = json.loads(raw)
        if isinstance(header, dict) and not _has_all_keys(header, raw):
            header = json.loads(raw, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise Malformed("its header is no valid JSON: the file is damaged or no safetensors file") from error
    if not isinstance(header, dict) or len(header) > MAX_ENTRIES:
        raise Malformed("its header is no table of tensors")
    return header


def _has_all_keys(header: dict[str, Node], raw: bytes) -> bool:
    """Whether no key was lost to a later one of the same name; False where this cannot be told.

    Behind every key stands a colon: where there are only as many as keys, each is there. To look at the
    pairs of every object while parsing takes twice as long.
    """
    keys = len(header) + sum(len(entry) for entry in header.values() if isinstance(entry, dict))
    return raw.count(b":") == keys


def _no_duplicates(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise Malformed("its header has a name twice")
    return table


def _tensor(key: str, entry: Node) -> tuple[Tensor, int]:
    fields: dict[str, Node] = entry if isinstance(entry, dict) else {}
    dtype = fields.get("dtype")
    shape, offsets = _counts(fields.get("shape")), _counts(fields.get("data_offsets"))
    if (
        not isinstance(dtype, str)
        or shape is None
        or len(shape) > _MAX_DIMENSIONS
        or offsets is None
        or len(offsets) != 2
        or offsets[0] > offsets[1]
    ):
        raise Malformed(f"its header describes the tensor {clean(key)} wrongly")
    name = _DTYPES.get(dtype, clean(dtype.lower(), 40))
    size = offsets[1] - offsets[0]
    tensor = Tensor(Storage(key, name, None, size), name, shape)
    if name in ITEM_BITS and tensor.size_bytes != size:
        raise Malformed(
            f"its header gives the tensor {clean(key)} {size:,} bytes, its shape {tensor.size_bytes:,}"
        )
    return tensor, offsets[1]


def _counts(values: Node) -> tuple[int, ...] | None:
    if not isinstance(values, list):
        return None
    for value in values:
        if type(value) is not int or not 0 <= value < _MAX_COUNT:
            return None
    return tuple(values)
