"""Checkpoints in a bucket or behind an address (``s3://``, ``gs://``, ``https://``), through fsspec.

Files are read by ranges. Their first and last bytes, which tell the format and where the rest lies,
are fetched for all files of a folder at once; small reads are widened so that they are few.
Source of the protocol: https://filesystem-spec.readthedocs.io.
"""

from __future__ import annotations

import importlib
import posixpath
from collections.abc import Iterable
from typing import Any

from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.sources import MAX_FILES, Meter
from ckpt_doctor.readers.text import clean

_CHUNK_BYTES = 32 << 10
"""Least that is fetched at once: a request takes longer than these bytes do."""
_MOST_AHEAD = 256
"""Files whose ends are fetched together."""


class RemoteStore:
    """A file system that fsspec knows."""

    def __init__(self, address: str) -> None:
        """Find the file system.

        Raises:
            Malformed: fsspec, or what it needs for this kind of address, is not installed.
        """
        try:
            core: Any = importlib.import_module("fsspec.core")
            self._fs: Any = core.url_to_fs(address)[0]
        except ImportError as error:
            raise Malformed(
                f"its kind of address needs a package that is not installed: {error}",
                'pip install "ckpt-doctor[remote]"',
            ) from error
        except (ValueError, OSError) as error:
            raise Malformed(f"it is no address that fsspec knows: {_line(error)}") from error
        self._ahead: dict[str, list[tuple[int, bytes]]] = {}

    def is_folder(self, path: str) -> bool:
        """See ``Store``."""
        try:
            return bool(self._fs.isdir(path)) and not self._fs.isfile(path)
        except Exception as error:
            raise _unreadable(error) from error

    def join(self, path: str, name: str) -> str:
        """See ``Store``."""
        return f"{path.rstrip('/')}/{name}"

    def listing(self, path: str) -> tuple[list[str], list[str]]:
        """See ``Store``."""
        folders: list[str] = []
        files: list[str] = []
        try:
            for entry in self._fs.ls(path, detail=True):
                name = posixpath.basename(entry["name"].rstrip("/"))
                if name:
                    (folders if entry["type"] == "directory" else files).append(name)
        except Exception as error:
            raise _unreadable(error) from error
        return sorted(folders), sorted(files)

    def files(self, path: str) -> dict[str, int]:
        """See ``Store``."""
        try:
            root = self._fs._strip_protocol(path).rstrip("/")
            found = self._fs.find(path, maxdepth=5, detail=True)
        except Exception as error:
            raise _unreadable(error) from error
        sizes = {
            name[len(root) :].lstrip("/"): int(entry.get("size") or 0)
            for name, entry in sorted(found.items())[:MAX_FILES]
            if name.startswith(root)
        }
        return {name: size for name, size in sizes.items() if name}

    def open(self, path: str, name: str, meter: Meter) -> RemoteFile:
        """See ``Store``."""
        try:
            size = int(self._fs.size(path) or 0)
        except Exception as error:
            raise _unreadable(error) from error
        return RemoteFile(self._fs, path, name, size, meter, self._ahead.get(path, []))

    def expect(self, path: str, names: Iterable[str], meter: Meter) -> None:
        """Fetch the first and the last bytes of several files at once."""
        paths = [self.join(path, name) for name in names][:_MOST_AHEAD]
        if len(paths) < 2:
            return
        try:
            heads = self._fs.cat_ranges(
                paths, [0] * len(paths), [_CHUNK_BYTES] * len(paths), on_error="return"
            )
        except Exception:  # noqa: BLE001 - then each file is read by itself, and says what is wrong
            return
        for each, head in zip(paths, heads, strict=True):
            if isinstance(head, bytes):
                meter.read_bytes += len(head)
                self._ahead[each] = [(0, head)]


class RemoteFile:
    """One file of a remote store."""

    def __init__(
        self, fs: Any, path: str, name: str, size_bytes: int, meter: Meter, chunks: list[tuple[int, bytes]]
    ) -> None:
        self._fs = fs
        self._path = path
        self._meter = meter
        self._chunks = chunks
        self.name = name
        self.size_bytes = size_bytes

    def read(self, offset: int, length: int) -> bytes:
        """See ``Source``."""
        end = min(offset + length, self.size_bytes)
        if end <= offset:
            return b""
        for start, data in self._chunks:
            if start <= offset and end <= start + len(data):
                return data[offset - start : end - start]
        stop = min(max(end, offset + _CHUNK_BYTES), self.size_bytes)
        begin = max(0, min(offset, stop - _CHUNK_BYTES))
        data = self._fetch(begin, stop)
        self._chunks = [*self._chunks[-3:], (begin, data)]
        return data[offset - begin : end - begin]

    def close(self) -> None:
        """Nothing stays open."""

    def _fetch(self, begin: int, stop: int) -> bytes:
        try:
            data = bytes(self._fs.cat_file(self._path, start=begin, end=stop))
        except Exception as error:
            raise _unreadable(error) from error
        self._meter.read_bytes += len(data)
        return data


def _unreadable(error: Exception) -> Malformed:
    if isinstance(error, FileNotFoundError):
        return Malformed("it cannot be read: No such file or directory")
    if isinstance(error, PermissionError):
        return Malformed("it cannot be read: access denied", "check the credentials of this address")
    return Malformed(f"it cannot be read: {_line(error)}")


def _line(error: Exception) -> str:
    return clean(" ".join(str(error).split()) or type(error).__name__)
