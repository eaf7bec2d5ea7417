"""A resumed run is one that has read the checkpoint."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckpt_doctor.errors import ScriptError
from ckpt_doctor.probe.loads import is_within, other_load
from tests.recorded import ended, write_journal


def run(folder: Path, *, loaded: list[Path] | None = None, saved: list[Path] | None = None) -> Any:
    """What a run has left in its recording: the files that it has loaded, and those that it has saved."""
    folder.mkdir()
    lines: list[object] = [{"unix_minus_monotonic_s": 0.0}]
    lines += [["e", "save", 1.0, 5, 0.1, {"path": str(path)}] for path in saved or []]
    write_journal(folder / "rank00000-1.jsonl", [*lines, *map(ended, range(5))])
    paths = [str(path) for path in loaded or []]
    return SimpleNamespace(
        folder=folder,
        command=("python", "train.py"),
        lines=lambda _: [],
        loaded_paths=lambda: paths,
        tail=list,
    )


def test_the_checkpoint_or_a_file_of_it(tmp_path: Path) -> None:
    """A file, a file within a folder, and what a link points to, are the checkpoint."""
    (tmp_path / "step-5").mkdir()
    (tmp_path / "last").symlink_to("step-5")
    inside = tmp_path / "step-5" / "model.pt"
    assert is_within(str(inside), tmp_path / "last")
    assert not is_within(str(tmp_path / "step-50"), tmp_path / "step-5")
    fresh = run(tmp_path / "before", saved=[tmp_path / "step-5"])
    assert other_load(run(tmp_path / "after", loaded=[inside]), fresh, tmp_path / "last", 0.0) is None


def test_another_save_of_the_probe(tmp_path: Path) -> None:
    """It is told which one was loaded; a file that nobody saved in the meantime makes it no resume."""
    wanted, other = tmp_path / "last.pt", tmp_path / "best.pt"
    other.touch()
    fresh = run(tmp_path / "before", saved=[wanted, other])
    again = run(tmp_path / "after", loaded=[other])
    told = other_load(again, fresh, wanted, 0.0)
    assert told == f"the resumed run loaded {other}, not {wanted}"
    with pytest.raises(ScriptError, match="never read") as refused:
        other_load(again, fresh, wanted, other.stat().st_mtime + 10.0)
    assert "--resume-args" in str(refused.value.hint)
    with pytest.raises(ScriptError, match="started afresh"):
        other_load(run(tmp_path / "third"), fresh, wanted, 0.0)
