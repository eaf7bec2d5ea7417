"""Folders that are there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

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
