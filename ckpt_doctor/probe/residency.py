"""Which pages of the data files are in the page cache, and how to put that back.

mincore(2) tells which pages of a mapping are in memory; posix_fadvise(2) with
POSIX_FADV_DONTNEED drops clean pages. No byte of a file is ever changed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_BYTES = 16 * 2**30
"""Files beyond this total are left alone: looking at every page would take too long."""

_READ_PAGES = 256


class Residency:
    """What one run would find in the page cache if it had the machine to itself.

    Two runs that take turns share the cache: what one reads the other finds there, and what one
    drops the other has to read again. So each has a view of its own: the pages that were in memory
    when it was last stopped, which are put back before it goes on.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._resident: dict[Path, bytes] = {}
        self.note(files)

    def note(self, files: Iterable[Path]) -> None:
        """Note which pages of the files are in memory now."""
        total_bytes = 0
        for path in files:
            size_bytes = _size_bytes(path)
            total_bytes += size_bytes
            pages = resident_pages(path) if size_bytes and total_bytes <= MAX_BYTES else None
            if pages is not None:
                self._resident[path] = pages

    def put_back(self, files: Iterable[Path]) -> None:
        """Make the pages of the files that are in memory those that were noted.

        Files of which nothing was noted are left as they are.
        """
        for path in files:
            then = self._resident.get(path)
            now = resident_pages(path) if then is not None else None
            if then is not None and now is not None and then != now:
                _drop(path, _runs(now, then))
                _read(path, _runs(then, now))

    def copy(self) -> Residency:
        """A second view that begins with the same pages."""
        other = Residency(())
        other._resident = dict(self._resident)
        return other

    @property
    def resident_bytes(self) -> int:
        """Bytes of all files that were in memory when they were last noted."""
        return sum(sum(pages) for pages in self._resident.values()) * mmap.PAGESIZE


class Warmed(Residency):
    """A view in which all of the files are in memory, whatever drops their pages meanwhile."""

    def note(self, files: Iterable[Path]) -> None:
        """Note that all pages of the files are to be in memory."""
        super().note(files)
        self._resident = {path: b"\1" * len(pages) for path, pages in self._resident.items()}

    def put_back(self, files: Iterable[Path]) -> None:
        """Read all of the files into memory that are not there; those that come next count as well."""
        super().put_back({*files, *self._resident})


def resident_pages(path: Path) -> bytes | None:
    """One byte a page, 1 where it is in memory; None where that cannot be told."""
    if sys.platform != "linux":
        return None
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapping:
            pages = (len(mapping) + mmap.PAGESIZE - 1) // mmap.PAGESIZE
            vector = (ctypes.c_ubyte * pages)()
            address = _address(mapping)
            if ctypes.CDLL(None).mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(mapping)), vector):
                return None
    except (OSError, ValueError):
        return None
    return bytes(value & 1 for value in vector)


def evict(files: Iterable[Path]) -> None:
    """Drop all clean pages of the files from memory."""
    for path in files:
        _drop(path, [(0, 0)])


def _address(mapping: mmap.mmap) -> int:
    """The address of a read-only mapping, which ctypes' own ``from_buffer`` refuses to give."""
    view = ctypes.py_object(mapping)
    buffer = (ctypes.c_void_p * 16)()
    api = ctypes.pythonapi
    if api.PyObject_GetBuffer(view, ctypes.byref(buffer), 0):
        raise OSError("the mapping has no address")
    address = buffer[0] or 0
    api.PyBuffer_Release(ctypes.byref(buffer))
    return address


def _runs(having: bytes, lacking: bytes) -> list[tuple[int, int]]:
    """Stretches of pages that are in memory in one view and not in the other, as [start, end)."""
    runs: list[tuple[int, int]] = []
    start: int | None = None
    for page, resident in enumerate(having):
        differs = resident and not (page < len(lacking) and lacking[page])
        if differs and start is None:
            start = page
        elif not differs and start is not None:
            runs.append((start, page))
            start = None
    if start is not None:
        runs.append((start, len(having)))
    return runs


def _drop(path: Path, runs: Sequence[tuple[int, int]]) -> None:
    """Drop stretches of pages; the stretch (0, 0) is the whole file."""
    if runs:
        with suppress(OSError), _opened(path) as descriptor:
            for start, end in runs:
                length = (end - start) * mmap.PAGESIZE
                os.posix_fadvise(descriptor, start * mmap.PAGESIZE, length, os.POSIX_FADV_DONTNEED)


def _read(path: Path, runs: Sequence[tuple[int, int]]) -> None:
    """Read stretches of pages into memory, and nothing around them."""
    if runs:
        with suppress(OSError), _opened(path) as descriptor:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
            for start, end in runs:
                for page in range(start, end, _READ_PAGES):
                    length = (min(end, page + _READ_PAGES) - page) * mmap.PAGESIZE
                    os.pread(descriptor, length, page * mmap.PAGESIZE)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
