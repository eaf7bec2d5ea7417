"""Folders that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckpt_doctor.resume.atomic import publish, take_away


def filled(folder: Path, content: str) -> Path:
    """A folder with a file in a folder."""
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_text(content)
    return folder


def test_a_folder_of_the_same_name_makes_room(tmp_path: Path) -> None:
    """The new one takes its place, and nothing of the old one stays."""
    target = filled(tmp_path / "step-1", "old")
    filled(tmp_path / "step-1.replaced", "older")
    publish(filled(tmp_path / "step-1.tmp", "new"), target)
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]
    assert (target / "inner" / "file").read_text() == "new"


def test_what_is_taken_away_is_gone(tmp_path: Path) -> None:
    """A folder goes with all that is in it, whatever an earlier try has left; if it is there at all."""
    filled(tmp_path / "step-1", "x")
    filled(tmp_path / "step-1.tmp", "left over")
    take_away(tmp_path / "step-1")
    take_away(tmp_path / "step-1")
    assert list(tmp_path.iterdir()) == []


def test_all_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders are written through to the disk, then comes the name, and then the name too."""
    done: list[tuple[str, str]] = []
    fsync, rename = os.fsync, Path.rename

    def note_sync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        done.append(("sync", str(path.relative_to(tmp_path))))
        fsync(descriptor)

    def note_rename(path: Path, target: Path) -> Path:
        done.append(("rename", target.name))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "rename", note_rename)
    publish(filled(tmp_path / "step-1.tmp", "new"), tmp_path / "step-1")
    *before, named, after = done
    inside = ("step-1.tmp", "step-1.tmp/inner", "step-1.tmp/inner/file")
    assert sorted(before) == [("sync", name) for name in inside]
    assert (named, after) == (("rename", "step-1"), ("sync", "."))
