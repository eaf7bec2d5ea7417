"""Where bytes come from: a local file, or a window on one, read by ranges and counted."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple, Protocol

from ckpt_doctor.readers.limits import Malformed

HEAD_BYTES = 1024
"""How much of each file is read to recognise it."""
MAX_FILES = 4096
"""Files of a folder that are listed."""
_MAX_FOLDER_DEPTH = 4
_HUB_FOLDER = "blobs"


class Source(Protocol):
    """Bytes that can be read by ranges."""

    @property
    def name(self) -> str:
        """Name of the file within its checkpoint; empty where the checkpoint is this file."""

    @property
    def size_bytes(self) -> int:
        """How many bytes there are."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a range, fewer where the end comes first.

        Raises:
            Malformed: They cannot be read.
        """

    def close(self) -> None:
        """Give back what it holds open."""


class Meter:
    """Counts what was read of one checkpoint."""

    def __init__(self) -> None:
        self.read_bytes = 0


class LocalFile:
    """A regular file of this machine. It is opened for the first range, and closed with the source."""

    def __init__(self, path: str, name: str, size_bytes: int, meter: Meter) -> None:
        self.path = path
        self.name = name
        self.size_bytes = size_bytes
        self.meter = meter
        self._fd = -1

    def read(self, offset: int, length: int) -> bytes:
        """See ``Source.read``."""
        try:
            if self._fd < 0:
                self._fd = os.open(
                    self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
                )
            parts = []
            while length > 0:
                part = _read_at(self._fd, offset, length)
                if not part:
                    break
                parts.append(part)
                offset += len(part)
                length -= len(part)
        except OSError as error:
            raise Malformed(f"it cannot be read: {error.strerror}") from error
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self.meter.read_bytes += len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Window(NamedTuple):
    """A part of another source that is a file of its own: a slice of a ``.distcp``, a zip within a zip."""

    source: Source
    name: str
    start: int
    size_bytes: int

    def read(self, offset: int, length: int) -> bytes:
        """See ``Source.read``."""
        return self.source.read(self.start + offset, max(0, min(length, self.size_bytes - offset)))

    def close(self) -> None:
        """The source that it is a part of stays open."""


class Memory(NamedTuple):
    """Bytes that another file held."""

    name: str
    data: bytes | memoryview

    @property
    def size_bytes(self) -> int:
        """How many bytes there are."""
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        """See ``Source.read``."""
        return bytes(self.data[offset : offset + length])

    def close(self) -> None:
        """Nothing is open."""


def _read_at(fd: int, offset: int, length: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(fd, length, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, length)


def open_file(path: str, name: str, meter: Meter) -> LocalFile:
    """A regular file as a source.

    Raises:
        Malformed: It is not there, or no regular file.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        raise Malformed(f"it cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise Malformed("it is no regular file", "name a checkpoint file or folder")
    return LocalFile(path, name, status.st_size, meter)


def list_folder(path: str) -> dict[str, int]:
    """Size of each regular file below a folder, by its name relative to it, in order of the names.

    Links are followed, but not out of the folder (except into the blobs of a Hugging Face cache, whose
    snapshots are made of such links) and not in circles. Hidden folders are left out.

    Raises:
        Malformed: The folder cannot be listed.
    """
    root = os.path.realpath(path)
    found: dict[str, int] = {}
    try:
        _list_into(root, root, "", found, 0)
    except OSError as error:
        raise Malformed(f"it cannot be read: {error.strerror}") from error
    return dict(sorted(found.items()))


def _list_into(root: str, folder: str, prefix: str, found: dict[str, int], depth: int) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= MAX_FILES:
                return
            if entry.is_symlink() and not _stays_inside(root, entry.path):
                continue
            try:
                if entry.is_dir() and not entry.is_symlink():
                    if not entry.name.startswith(".") and depth < _MAX_FOLDER_DEPTH:
                        _list_into(root, entry.path, f"{prefix}{entry.name}/", found, depth + 1)
                elif entry.is_file():
                    found[f"{prefix}{entry.name}"] = entry.stat().st_size
            except OSError:
                continue  # gone since it was listed, or not ours to read


def _stays_inside(root: str, path: str) -> bool:
    target = os.path.realpath(path)
    if not os.path.exists(target):
        return False
    return target.startswith(root + os.sep) or os.path.basename(os.path.dirname(target)) == _HUB_FOLDER
