"""Tar archives: names and places of the files in them, read where they lie and never unpacked.

An archive of checkpoint files (NeMo's ``.nemo``, Composer's ``.tar``) is a folder in one file, so it is a
store like any other. The format is that of POSIX.1-2001 (ustar and pax headers) with GNU's long names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from ckpt_doctor.readers.limits import Budget, Malformed, Unrecognised, Unrelated
from ckpt_doctor.readers.sources import Meter, Source, Window
from ckpt_doctor.readers.text import clean

_BLOCK = 512
_MAX_HEADERS = 2_048
"""Each costs a request where the archive is remote."""
_MAX_EXTENDED_BYTES = 1 << 16
_FILE, _EXTENDED, _LONG_NAME = (b"0", b"\0", b"7"), (b"x", b"X"), b"L"
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_OF_OTHERS = (b"g", b"K")
"""Headers for the whole archive, and long targets of links."""


class Tar:
    """The regular files of one archive by name."""

    def __init__(self, source: Source, budget: Budget) -> None:
        """Go from header to header.

        Raises:
            Unrecognised: A header is damaged, a file is cut short, or there are too many.
        """
        self._source = source
        self._places: dict[str, tuple[int, int]] = {}
        for name, start, size in self._files(budget):
            if start + size > source.size_bytes:
                raise Unrecognised(f"its file {clean(name)} is cut short", "copy or save it again")
            self._places[name] = (start, size)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def window(self, name: str) -> Window:
        """One file as a source of its own.

        Raises:
            Malformed: There is none of this name.
        """
        if name not in self._places:
            raise Malformed(f"it has no file {clean(name)}")
        return Window(self._source, name, *self._places[name])

    def _files(self, budget: Budget) -> Iterator[tuple[str, int, int]]:
        """Name, place and size of each file that does not point out of the archive."""
        at, extended = 0, _NOTHING
        for _ in range(_MAX_HEADERS):
            budget.check_time()
            header = self._source.read(at, _BLOCK) if at < self._source.size_bytes else b""
            if len(header) < _BLOCK or not any(header):
                return
            _check(header)
            kind, start = header[156:157], at + _BLOCK
            size = 0 if kind in _WITHOUT_DATA else _number(header[124:136])
            if kind in _EXTENDED or kind == _LONG_NAME:
                extended = {**extended, **_extended(kind, self._extension(start, size))}
            elif kind not in _OF_OTHERS:
                size = int(extended.get("size", size))
                name = _within(extended.get("path") or _name(header))
                if kind in _FILE and name is not None:
                    yield name, start, size
                extended = _NOTHING
            at = start + -(-size // _BLOCK) * _BLOCK
        raise Unrelated(f"it is a tar archive of more than {_MAX_HEADERS:,} files")

    def _extension(self, start: int, size: int) -> bytes:
        if size > _MAX_EXTENDED_BYTES:
            raise Unrecognised("one of its headers is longer than any name")
        return self._source.read(start, size)


class TarStore:
    """The files within an archive, as a store."""

    def __init__(self, path: str, tar: Tar) -> None:
        self._path = path
        self._tar = tar

    def is_folder(self, path: str) -> bool:
        """See ``Store``."""
        return self._inner(path) not in self._tar

    def join(self, path: str, name: str) -> str:
        """See ``Store``."""
        return f"{path}/{name}"

    def listing(self, path: str) -> tuple[list[str], list[str]]:
        """See ``Store``."""
        names = self.files(path)
        folders = {name.partition("/")[0] for name in names if "/" in name}
        return sorted(folders), [name for name in names if "/" not in name]

    def files(self, path: str) -> dict[str, int]:
        """See ``Store``."""
        inner = self._inner(path)
        prefix = f"{inner}/" if inner else ""
        return {
            name[len(prefix) :]: self._tar.window(name).size_bytes
            for name in sorted(self._tar)
            if name.startswith(prefix)
        }

    def open(self, path: str, name: str, meter: Meter) -> Source:
        """See ``Store``; what is read is counted where the archive is read."""
        return self._tar.window(self._inner(path))._replace(name=name)

    def expect(self, path: str, names: Iterable[str], meter: Meter) -> None:
        """The archive is one file: nothing can be fetched together."""

    def _inner(self, path: str) -> str:
        return path[len(self._path) :].lstrip("/")


_NOTHING: dict[str, str] = {}


def _check(header: bytes) -> None:
    """Compare a header with its checksum, which is made with spaces in its own place."""
    if sum(header[:148]) + 8 * ord(" ") + sum(header[156:]) != _number(header[148:156]):
        raise Unrecognised("it is a tar archive with a damaged header: the file is cut short or damaged")


def _number(field: bytes) -> int:
    """Octal digits, or GNU's base 256 where the first bit is set."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0") or b"0"
    if digits.strip(b"01234567"):
        raise Unrecognised("it is a tar archive with a damaged header: a number in it is none")
    return int(digits, 8)


def _name(header: bytes) -> str:
    name, prefix = (part.partition(b"\0")[0] for part in (header[:100], header[345:500]))
    if prefix and header[257:263] == b"ustar\0":
        name = prefix + b"/" + name
    return _text(name)


def _extended(kind: bytes, raw: bytes) -> dict[str, str]:
    """What an extended header says of the file that follows: its path and its size."""
    if kind == _LONG_NAME:
        return {"path": _text(raw.partition(b"\0")[0])}
    fields = {}
    at = 0
    while at < len(raw):
        digits = raw[at : at + 8].partition(b" ")[0]
        start, end = at + len(digits) + 1, at + (int(digits) if digits.isdigit() else 0)
        key, equals, value = raw[start : max(start, end - 1)].partition(b"=")
        if not equals or (key == b"size" and not (value.isdigit() and len(value) < 20)):
            raise Unrecognised("it is a tar archive with a damaged extended header")
        if key in (b"path", b"size"):
            fields[key.decode()] = _text(value)
        at = end
    return fields


def _within(name: str) -> str | None:
    """The name without detours; None for one that points out of the archive."""
    path = posixpath.normpath(name)
    return None if path.startswith("/") or path.partition("/")[0] in ("..", ".") else path


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
