"""A copy comes into its place whole or not at all, and never in place of something else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ckpt_doctor.errors import MachineError, UsageError
from ckpt_doctor.repairs.output import check_output, written_beside


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A checkpoint."""
    path = tmp_path / "ckpt.pt"
    path.write_bytes(b"original")
    return path


@pytest.mark.parametrize("make", [os.link, os.symlink])
@pytest.mark.parametrize("allow", [True, False])
def test_the_checkpoint_itself_is_no_place(tmp_path: Path, source: Path, make: object, allow: bool) -> None:
    """Neither its own name nor a link to it is written to, whatever is allowed."""
    link = tmp_path / "link.pt"
    assert callable(make)
    make(source, link)
    for output in (source, link, tmp_path / "." / "ckpt.pt"):
        with pytest.raises(UsageError, match="the checkpoint itself"):
            check_output(source, output, allow_overwrite=allow)


def test_a_link_to_the_folder_is_followed(tmp_path: Path) -> None:
    """A copy may lie neither in the checkpoint's folder nor around it, also through links."""
    folder = tmp_path / "run" / "ckpt"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    for output in (folder, folder / "copy", tmp_path / "link" / "copy", tmp_path / "run"):
        with pytest.raises(UsageError, match="lies in it or holds it"):
            check_output(folder, output, allow_overwrite=True)


def test_what_is_there_is_kept(tmp_path: Path, source: Path) -> None:
    """Something that exists is named, with the option that replaces it."""
    (tmp_path / "there.pt").write_bytes(b"mine")
    with pytest.raises(UsageError, match="is there already") as caught:
        check_output(source, tmp_path / "there.pt", allow_overwrite=False)
    assert "--allow-overwrite" in str(caught.value.hint)
    check_output(source, tmp_path / "there.pt", allow_overwrite=True)


def test_a_place_of_another_kind(tmp_path: Path, source: Path) -> None:
    """A file is not put in place of a folder, and no folder is made for it."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="is a folder, and the checkpoint is a file"):
        check_output(source, tmp_path / "folder", allow_overwrite=True)
    with pytest.raises(UsageError, match="does not exist"):
        check_output(source, tmp_path / "no" / "copy.pt", allow_overwrite=True)


def test_a_file_is_written(tmp_path: Path) -> None:
    """What was written beside the place stands in it afterwards, alone."""
    with written_beside(tmp_path / "copy.pt", allow_overwrite=False) as temporary:
        assert temporary.name == "copy.pt"
        temporary.write_bytes(b"new")
        assert not (tmp_path / "copy.pt").exists()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"copy.pt": b"new"}


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    """A folder that may be replaced is gone as a whole."""
    place = tmp_path / "copy"
    place.mkdir()
    (place / "old.pt").write_bytes(b"old")
    with written_beside(place, allow_overwrite=True) as temporary:
        (temporary / "deep").mkdir(parents=True)
        (temporary / "deep" / "new.pt").write_bytes(b"new")
    assert [str(each.relative_to(tmp_path)) for each in sorted(tmp_path.rglob("*.pt"))] == [
        "copy/deep/new.pt"
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no")])
def test_nothing_is_left_of_a_failure(tmp_path: Path, error: BaseException) -> None:
    """Where writing breaks off, the place holds what it held."""
    (tmp_path / "copy.pt").write_bytes(b"old")

    def write() -> None:
        with written_beside(tmp_path / "copy.pt", allow_overwrite=True) as temporary:
            temporary.write_bytes(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"copy.pt": b"old"}


def test_what_came_to_be_there_meanwhile_is_kept(tmp_path: Path) -> None:
    """A file that another process has put there while the copy was written stays."""

    def write() -> None:
        with written_beside(tmp_path / "copy.pt", allow_overwrite=False) as temporary:
            temporary.write_bytes(b"new")
            (tmp_path / "copy.pt").write_bytes(b"theirs")

    with pytest.raises(UsageError, match="meanwhile"):
        write()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"copy.pt": b"theirs"}


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """An error of the disk is one line with the place and the reason."""

    def write() -> None:
        with written_beside(tmp_path / "copy.pt", allow_overwrite=False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(MachineError, match=r"copy\.pt: cannot be written: No space left on device"):
        write()
    assert not list(tmp_path.iterdir())
