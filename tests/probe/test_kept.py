"""A checkpoint can be put back to what it was at the save."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckpt_doctor.errors import MachineError
from ckpt_doctor.probe import kept as kept_module
from ckpt_doctor.probe.kept import Kept, has_room


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's folder: a checkpoint, what points to it, and other files."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/step-10.pt").write_text("ten")
    (tmp_path / "run/latest").write_text("step-10.pt")
    (tmp_path / "run/last.pt").symlink_to("step-10.pt")
    (tmp_path / "run/log.csv").write_text("x" * 1000)
    return tmp_path / "run"


def test_a_later_save_and_a_rotation(folder: Path, tmp_path: Path) -> None:
    """The checkpoint is there again, and what names the newest one names it; other files are left alone."""
    kept = Kept(folder / "step-10.pt", tmp_path / "kept")
    (folder / "step-20.pt").write_text("twenty")
    (folder / "step-10.pt").unlink()
    (folder / "latest").write_text("step-20.pt")
    (folder / "last.pt").unlink()
    (folder / "last.pt").symlink_to("step-20.pt")
    (folder / "log.csv").write_text("y")
    kept.put_back()
    assert (folder / "step-10.pt").read_text() == (folder / "last.pt").read_text() == "ten"
    assert (folder / "latest").read_text() == "step-10.pt"
    assert (folder / "step-20.pt").read_text() == "twenty"
    assert (folder / "log.csv").read_text() == "y"
    kept.discard()
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_by_its_link(folder: Path, tmp_path: Path) -> None:
    """What the link pointed to is kept, and a later checkpoint that it points to now is not overwritten."""
    kept = Kept(folder / "last.pt", tmp_path / "kept")
    (folder / "step-10.pt").write_text("changed")
    (folder / "step-20.pt").write_text("twenty")
    (folder / "last.pt").unlink()
    (folder / "last.pt").symlink_to("step-20.pt")
    kept.put_back()
    assert (folder / "last.pt").read_text() == (folder / "step-10.pt").read_text() == "ten"
    assert (folder / "step-20.pt").read_text() == "twenty"


def test_a_folder_whose_files_changed(tmp_path: Path) -> None:
    """Each of its files is what it was."""
    checkpoint = tmp_path / "run/step-10"
    checkpoint.mkdir(parents=True)
    for name in ("model.pt", "optimizer.pt"):
        (checkpoint / name).write_text("ten")
    kept = Kept(checkpoint, tmp_path / "kept")
    (checkpoint / "model.pt").write_text("twenty")
    (checkpoint / "optimizer.pt").unlink()
    kept.put_back()
    assert [(checkpoint / name).read_text() for name in ("model.pt", "optimizer.pt")] == ["ten", "ten"]


def test_what_nobody_touched_is_not_written(folder: Path, tmp_path: Path) -> None:
    """A checkpoint of the user's own stays the file that it is."""
    kept = Kept(folder / "step-10.pt", tmp_path / "kept")
    before = os.stat(folder / "step-10.pt")
    kept.put_back()
    after = os.stat(folder / "step-10.pt")
    assert (before.st_ino, before.st_ctime_ns) == (after.st_ino, after.st_ctime_ns)


def test_no_room_for_a_copy(folder: Path) -> None:
    """It is told in one line, with what was to be copied."""
    with pytest.raises(MachineError, match=r"the checkpoint \(3 B\) could not be copied"):
        Kept(folder / "step-10.pt", folder / "step-10.pt" / "kept")


def test_a_copy_that_costs_much_is_not_made_unasked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one of a large checkpoint, nor one that leaves the disk hardly any room."""
    checkpoint, target = folder / "last.pt", folder.parent
    assert has_room(checkpoint, target)
    monkeypatch.setattr(kept_module, "MOST_UNASKED_BYTES", 2)
    assert not has_room(checkpoint, target)
    monkeypatch.setattr(kept_module, "MOST_UNASKED_BYTES", 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=11))
    assert not has_room(checkpoint, target)
    assert not has_room(folder / "missing.pt", target)
