"""Which pages of the data files are in the page cache, and how to put that back.

mincore(2) tells which pages of a mapping are in memory; posix_fadvise(2) with
POSIX_FADV_DONTNEED drops clean pages. Neither reads or changes a byte of a file.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MAX_BYTES = 16 * 2**30
"""Files beyond this total are left alone: looking at every page would take too long."""


class Residency:
    """The pages of some files that are in memory at one moment."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._resident: dict[Path, bytes] = {}
        total_bytes = 0
        for path in files:
            size_bytes = _size_bytes(path)
            total_bytes += size_bytes
            if size_bytes and total_bytes <= MAX_BYTES:
                pages = resident_pages(path)
                if pages is not None:
                    self._resident[path] = pages

    @property
    def known(self) -> bool:
        """Whether the residency of any file could be read."""
        return bool(self._resident)

    @property
    def resident_bytes(self) -> int:
        """Bytes of all files that are in memory."""
        return sum(sum(pages) for pages in self._resident.values()) * mmap.PAGESIZE

    def restore(self, files: Iterable[Path]) -> int:
        """Drop the pages of ``files`` that are in memory now and were not then; returns their bytes."""
        return sum(self._restore_one(path) for path in files)

    def _restore_one(self, path: Path) -> int:
        then = self._resident.get(path, b"")
        if then and all(then):
            return 0
        now = resident_pages(path)
        if now is None:
            return 0
        dropped = 0
        for start, end in _runs(now, then):
            _drop(path, start * mmap.PAGESIZE, (end - start) * mmap.PAGESIZE)
            dropped += (end - start) * mmap.PAGESIZE
        return dropped


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


def evict(files: Iterable[Path]) -> int:
    """Drop all clean pages of ``files`` from memory; returns the bytes of the files."""
    total_bytes = 0
    for path in files:
        size_bytes = _size_bytes(path)
        if size_bytes:
            _drop(path, 0, 0)
            total_bytes += size_bytes
    return total_bytes


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


def _runs(now: bytes, then: bytes) -> Iterator[tuple[int, int]]:
    """Stretches of pages that are in memory now and were not then, as [start, end)."""
    start: int | None = None
    for page, resident in enumerate(now):
        fresh = resident and not (page < len(then) and then[page])
        if fresh and start is None:
            start = page
        elif not fresh and start is not None:
            yield start, page
            start = None
    if start is not None:
        yield start, len(now)


def _drop(path: Path, offset: int, length: int) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_DONTNEED)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
