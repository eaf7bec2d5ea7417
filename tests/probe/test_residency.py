"""What lies in the page cache can be seen and put back."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import pytest

from ckpt_doctor.probe import residency
from ckpt_doctor.probe.residency import Residency, Warmed, evict, resident_pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mincore and fadvise are Linux's")

PAGES = 2048


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of some MiB on disk, not in memory."""
    path = tmp_path / "data.bin"
    path.write_bytes(os.urandom(PAGES * mmap.PAGESIZE - 10))
    sync(path)
    evict([path])
    if sum(resident_pages(path) or b"\1" * PAGES) > PAGES // 4:
        pytest.skip("this file system keeps pages whatever it is told")
    return path


def sync(path: Path) -> None:
    """Write a file to disk: pages that are not there cannot be dropped."""
    with path.open("rb") as opened:
        os.fsync(opened.fileno())


def read(path: Path, first: int, count: int) -> None:
    """Read some pages, without reading ahead."""
    with path.open("rb", buffering=0) as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        opened.seek(first * mmap.PAGESIZE)
        opened.read(count * mmap.PAGESIZE)


def resident(path: Path) -> int:
    """How many pages of a file are in memory."""
    return sum(resident_pages(path) or b"")


def test_reading_makes_resident_and_evicting_drops(file: Path) -> None:
    """Pages that were read are in memory; after evict they are not."""
    assert len(resident_pages(file) or b"") == PAGES
    read(file, 0, PAGES)
    assert resident(file) == PAGES
    evict([file.parent / "missing", file])
    assert resident(file) < PAGES // 4


def test_what_was_not_there_is_dropped(file: Path) -> None:
    """What came into memory since goes; what was there before stays."""
    read(file, 0, 512)
    before = resident_pages(file) or b""
    then = Residency([file, file.parent / "missing"])
    assert then.resident_bytes == sum(before) * mmap.PAGESIZE
    read(file, 1024, 512)
    assert resident(file) >= sum(before) + 512
    then.put_back([file])
    after = resident_pages(file) or b""
    assert sum(after[:512]) == 512
    assert sum(after[1100:1500]) < 100


def test_what_has_gone_is_read_again(file: Path) -> None:
    """Pages that were in memory when they were noted are there again, and nothing around them."""
    read(file, 100, 300)
    before = resident_pages(file) or b""
    then = Residency([file])
    evict([file])
    then.put_back([file])
    after = resident_pages(file) or b""
    assert sum(after[100:400]) == 300
    assert sum(after) <= sum(before) + 64


def test_each_view_is_its_own(file: Path) -> None:
    """A copy begins with the same pages; what is noted later in one is not in the other."""
    read(file, 0, 64)
    first = Residency([file])
    second = first.copy()
    assert second.resident_bytes == first.resident_bytes
    read(file, 512, 1024)
    second.note([file])
    assert second.resident_bytes >= first.resident_bytes + 1024 * mmap.PAGESIZE
    first.put_back([file])
    assert sum((resident_pages(file) or b"")[600:1400]) < 100
    second.put_back([file])
    assert sum((resident_pages(file) or b"")[600:1400]) == 800


def test_a_warm_view(file: Path, tmp_path: Path) -> None:
    """It holds all of the files, also those that are not asked for, whatever has dropped them meanwhile."""
    warmed = Warmed([file])
    assert warmed.resident_bytes == PAGES * mmap.PAGESIZE
    warmed.put_back(())
    assert resident(file) == PAGES
    evict([file])
    warmed.note([file, tmp_path / "missing"])
    warmed.put_back([tmp_path / "missing"])
    assert resident(file) == PAGES


def test_files_that_tell_nothing(tmp_path: Path) -> None:
    """Empty files, folders and missing ones have no residency, and are no error."""
    (tmp_path / "empty").touch()
    paths = [tmp_path / "empty", tmp_path, tmp_path / "missing"]
    then = Residency(paths)
    assert then.resident_bytes == 0
    then.put_back(paths)
    evict(paths)
    assert resident_pages(tmp_path / "missing") is None


def test_more_than_can_be_looked_at(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beyond the limit are left alone, and not dropped as if they had been absent."""
    read(file, 0, PAGES)
    monkeypatch.setattr(residency, "MAX_BYTES", 1)
    then = Residency([file])
    assert then.resident_bytes == 0
    then.put_back([file])
    assert resident(file) == PAGES
