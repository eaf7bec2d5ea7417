"""The central directory of a zip archive: names and sizes of its records, without their content.

Python's ``zipfile`` makes an object of 600 bytes for each record and reads local headers; torch goes
by the central directory alone, looks names up without regard to case, and never checks a CRC. So
does this. The format is that of PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ckpt_doctor.readers.limits import MAX_ENTRIES, Budget, Malformed
from ckpt_doctor.readers.sources import Source
from ckpt_doctor.readers.text import clean

MAGIC = b"PK\x03\x04"

_END = struct.Struct("<4s4H2IH")
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")
_MAX_COMMENT = 65_535
_TAIL = 4_096
_FULL32 = 0xFFFFFFFF
_ENCRYPTED = 1
_STORED, _DEFLATED = 0, 8


class Archive:
    """The records of one archive by name."""

    def __init__(self, source: Source, budget: Budget) -> None:
        """Read the central directory.

        Raises:
            Malformed: There is none, or it contradicts the file.
        """
        self._source = source
        self._at: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._directory = b""
        self.notes: list[str] = []
        self._load(budget)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the records in the order of the directory."""
        return tuple(self._sizes)

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def size_bytes(self, name: str) -> int | None:
        """Unpacked size of a record; None where there is no such record."""
        return self._sizes.get(name)

    def read(self, name: str, limit: int) -> bytes:
        """Content of one record.

        Raises:
            Malformed: There is no such record, it is damaged, encrypted, or longer than ``limit``.
        """
        if name not in self._at:
            raise Malformed(f"the archive has no record {clean(name)}")
        method, packed, size, start = self._locate(name)
        if size > limit or packed > limit:
            raise Malformed(
                f"its record {clean(name)} claims {size:,} bytes, more than the {limit:,} allowed"
            )
        raw = self._source.read(start, packed)
        if len(raw) < packed:
            raise Malformed(f"its record {clean(name)} is cut short")
        if method == _STORED:
            return raw
        return _inflate(raw, size, clean(name))

    def window(self, name: str) -> tuple[int, int]:
        """Where the bytes of a stored record begin, and how many there are.

        Raises:
            Malformed: It is not there or is compressed.
        """
        if name not in self._at:
            raise Malformed(f"the archive has no record {clean(name)}")
        method, packed, _, start = self._locate(name)
        if method != _STORED:
            raise Malformed(f"its record {clean(name)} is compressed")
        return start, packed

    def _locate(self, name: str) -> tuple[int, int, int, int]:
        _, flags, method, packed, size, _, offset = self._entry(self._at[name])
        if flags & _ENCRYPTED:
            raise Malformed(f"its record {clean(name)} is encrypted")
        if method not in (_STORED, _DEFLATED):
            raise Malformed(f"its record {clean(name)} is packed in an unknown way ({method})")
        header = self._source.read(offset, _LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != MAGIC:
            raise Malformed(f"its record {clean(name)} has no header where the directory says")
        fields = _LOCAL.unpack(header)
        return method, packed, size, offset + _LOCAL.size + fields[9] + fields[10]

    def _load(self, budget: Budget) -> None:
        offset, length, count = self._find_directory()
        if count > MAX_ENTRIES or length > 160 * MAX_ENTRIES:
            raise Malformed(f"its directory claims {count:,} records, more than the {MAX_ENTRIES:,} allowed")
        self._directory = self._source.read(offset, length)
        if len(self._directory) < length:
            raise Malformed("its directory is cut short")
        position = 0
        total = 0
        for index in range(count):
            if index % 32_768 == 0:
                budget.check_time()
            name, _, _, packed, size, after, start = self._entry(position)
            if start + packed > offset:
                raise Malformed(
                    f"its record {clean(name)} reaches beyond the data: the file is cut short or damaged"
                )
            if name in self._sizes:
                raise Malformed(f"it has two records of the name {clean(name)}")
            self._at[name] = position
            self._sizes[name] = size
            total += packed
            position = after
        if total > offset:
            raise Malformed("its records overlap")

    def _entry(self, position: int) -> tuple[str, int, int, int, int, int, int]:
        """Name, flags, method, packed size, size, position of the next entry, offset of the local header."""
        data = self._directory
        if position + _ENTRY.size > len(data):
            raise Malformed("its directory is cut short")
        fields = _ENTRY.unpack_from(data, position)
        if fields[0] != b"PK\x01\x02":
            raise Malformed("its directory is damaged")
        flags, method, packed, size = fields[3], fields[4], fields[8], fields[9]
        name_end = position + _ENTRY.size + fields[10]
        extra_end = name_end + fields[11]
        offset = fields[16]
        if size == _FULL32 or packed == _FULL32 or offset == _FULL32:
            size, packed, offset = _extend(data[name_end:extra_end], size, packed, offset)
        name = data[position + _ENTRY.size : name_end].decode("utf-8", "backslashreplace")
        return name, flags, method, packed, size, extra_end + fields[12], offset

    def _find_directory(self) -> tuple[int, int, int]:
        """Offset, length and number of entries of the central directory."""
        size = self._source.size_bytes
        for reach in (_TAIL, _MAX_COMMENT + _TAIL):
            start = max(0, size - reach)
            tail = self._source.read(start, size - start)
            at = tail.rfind(b"PK\x05\x06")
            if 0 <= at <= len(tail) - _END.size:
                return self._directory_of(tail, at, start)
            if start == 0:
                break
        raise Malformed(
            "it is a zip archive without its end: the file is cut short",
            "copy or save it again",
        )

    def _directory_of(self, tail: bytes, at: int, start: int) -> tuple[int, int, int]:
        fields = _END.unpack_from(tail, at)
        count, length, offset = fields[4], fields[5], fields[6]
        if start + at + _END.size + fields[7] < self._source.size_bytes:
            self.notes.append("bytes follow the end of the archive")
        locator = at - _LOCATOR.size
        if locator >= 0 and tail[locator : locator + 4] == b"PK\x06\x07":
            at64 = _LOCATOR.unpack_from(tail, locator)[2]
            record = self._source.read(at64, _END64.size) if at64 < self._source.size_bytes else b""
            if len(record) < _END64.size or record[:4] != b"PK\x06\x06":
                raise Malformed("the end of its directory is damaged")
            wide = _END64.unpack(record)
            count, length, offset = wide[7], wide[8], wide[9]
        if offset + length > self._source.size_bytes or count * _ENTRY.size > length:
            raise Malformed("its directory lies outside of the file: the file is cut short or damaged")
        return offset, length, count


def _extend(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Sizes and offset of 64 bits from the zip64 extra field (0x0001)."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        body = extra[position + 4 : position + 4 + length]
        position += 4 + length
        if kind != 1:
            continue
        values = iter(struct.unpack_from(f"<{len(body) // 8}Q", body))
        try:
            size = next(values) if size == _FULL32 else size
            packed = next(values) if packed == _FULL32 else packed
            offset = next(values) if offset == _FULL32 else offset
        except StopIteration:
            break
        return size, packed, offset
    raise Malformed("a record of 4 GB or more lacks its size")


def _inflate(raw: bytes, size: int, name: str) -> bytes:
    import zlib

    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(raw, size + 1)
    except zlib.error as error:
        raise Malformed(f"its record {name} cannot be unpacked") from error
    if len(data) != size:
        raise Malformed(f"its record {name} unpacks to another size than it claims")
    return data
