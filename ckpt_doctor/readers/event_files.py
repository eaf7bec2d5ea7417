"""Event files of TensorBoard: the scalars in their records.

Format: records of TFRecord (length, its checksum, data, their checksum; checksums are CRC-32C, masked), each
with one ``Event`` message: wall time, step, and a summary of tagged values. Source: tensorflow's
``core/lib/io/record_writer.h`` and ``core/util/event.proto``; only the fields that are needed are decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.text import clean

_VERSION = b"brain.Event:"
"""Begins the version in the first event of every file."""
_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_MAX_SCALARS_BYTES = 1 << 20
"""Longer records hold images, histograms or graphs, and are passed over."""
_MAX_RECORD_BYTES = 1 << 31
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers."""
_FLOAT, _DOUBLE = 1, 2
"""Types of a tensor: their numbers in ``types.proto``."""
_MAX_TIME_S = 1e18


class Scalar(NamedTuple):
    """One value of one tag."""

    tag: str
    step: int
    wall_s: float
    value: float


def is_event_file(head: bytes) -> bool:
    """Whether a file begins with a record of a right checksum that names the version of event files."""
    if len(head) < _HEADER.size or _VERSION not in head[:128]:
        return False
    _, checksum = _HEADER.unpack_from(head)
    return bool(checksum == masked_crc32c(head[:8]))


def records(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The records that can hold scalars. The last one may be cut short, in a file that is being written.

    Raises:
        Malformed: A length or a checksum is wrong.
    """
    stream = _Stream(chunks)
    while len(header := stream.read(_HEADER.size)) == _HEADER.size:
        length, checksum = _HEADER.unpack(header)
        if checksum != masked_crc32c(header[:8]) or length > _MAX_RECORD_BYTES:
            raise stream.damaged()
        if length > _MAX_SCALARS_BYTES:
            stream.skip(length + _CHECKSUM.size)
            continue
        data, end = stream.read(length), stream.read(_CHECKSUM.size)
        if len(end) < _CHECKSUM.size:
            return
        if _CHECKSUM.unpack(end)[0] != masked_crc32c(data):
            raise stream.damaged()
        yield data


class _Stream:
    """Bytes taken from a file in pieces of any length."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._at = 0
        self._before = 0

    def read(self, length: int) -> bytes:
        """The next bytes, fewer at the end."""
        while len(self._buffer) - self._at < length and (chunk := next(self._chunks, b"")):
            self._before += self._at
            self._buffer, self._at = self._buffer[self._at :] + chunk, 0
        data = self._buffer[self._at : self._at + length]
        self._at += len(data)
        return data

    def skip(self, length: int) -> None:
        """Pass over bytes without keeping them."""
        while length > 0 and (part := self.read(min(length, _MAX_SCALARS_BYTES))):
            length -= len(part)

    def damaged(self) -> Malformed:
        """What to say of a record that does not fit its checksum."""
        return Malformed(
            f"it is damaged: a wrong checksum after {self._before + self._at:,} bytes", "copy the file again"
        )


def scalars(record: bytes) -> Iterator[Scalar]:
    """The scalars of an ``Event`` message.

    Raises:
        Malformed: It is no such message.
    """
    wall_s, step = 0.0, 0
    summaries: list[bytes] = []
    for number, wire, value in _fields(record):
        if number == 1 and wire == _FIXED64:
            (wall_s,) = struct.unpack("<d", _bytes(value))
        elif number == 2 and wire == _VARINT:
            step = _signed(value)
        elif number == 5 and wire == _BYTES:
            summaries.append(_bytes(value))
    if not 0.0 < wall_s < _MAX_TIME_S:
        return
    for summary in summaries:
        for number, wire, value in _fields(summary):
            if number == 1 and wire == _BYTES:
                tag, scalar = _value(_bytes(value))
                if tag and scalar is not None:
                    yield Scalar(tag, step, wall_s, scalar)


def _value(message: bytes) -> tuple[str, float | None]:
    """Tag and number of a summary's value; None where it is no single number."""
    tag, scalar = "", None
    for number, wire, value in _fields(message):
        if number == 1 and wire == _BYTES:
            tag = clean(_bytes(value).decode(errors="replace"))
        elif number == 2 and wire == _FIXED32:
            (scalar,) = struct.unpack("<f", _bytes(value))
        elif number == 8 and wire == _BYTES:
            scalar = _tensor(_bytes(value))
    return tag, scalar


def _tensor(message: bytes) -> float | None:
    """The number in a tensor of one; None for any other."""
    kind, content = 0, b""
    for number, wire, value in _fields(message):
        if number == 1 and wire == _VARINT:
            kind = _signed(value)
        elif number in (4, 5, 6) and wire in (_BYTES, _FIXED32, _FIXED64):
            content += _bytes(value)
    if (kind, len(content)) == (_FLOAT, 4):
        return float(struct.unpack("<f", content)[0])
    if (kind, len(content)) == (_DOUBLE, 8):
        return float(struct.unpack("<d", content)[0])
    return None


def _fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field of a protocol buffer."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, wire, value
            continue
        if wire == _BYTES:
            length, at = _varint(message, at)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}.get(wire, -1)
        if length < 0 or at + length > len(message):
            raise Malformed("it is damaged: a record holds no event")
        yield key >> 3, wire, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    raise Malformed("it is damaged: a record holds no event")


def _signed(value: int | bytes) -> int:
    """A varint as a signed number of 64 bits."""
    number = int(value) & (1 << 64) - 1 if isinstance(value, int) else 0
    return number - (1 << 64) if number >> 63 else number


def _bytes(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b""


def masked_crc32c(data: bytes) -> int:
    """CRC-32C (polynomial 0x1EDC6F41, reflected) of some bytes, masked as TFRecord does it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _crc_table()
