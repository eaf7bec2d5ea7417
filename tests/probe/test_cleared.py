"""A fresh run finds what the first one found, and all is there again when it has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_doctor.probe.cleared import Cleared

Write = Callable[[str, str], str]
LONG_AGO_S = 1e6
TICK_S = 0.05
"""File systems stamp files with a coarser clock than the one that is read here."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of the user's."""
    (tmp_path / "mine.pt").write_text("mine")
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Write:
    """Write a file below the folder."""

    def call(name: str, text: str) -> str:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    return call


def files(folder: Path) -> dict[str, str]:
    """What lies in the folder that a script would take for its own, by name."""
    found = (path for path in folder.rglob("*") if path.is_file())
    named = {str(path.relative_to(folder)): path.read_text() for path in found}
    return {name: text for name, text in named.items() if not name.startswith(".")}


def test_a_fresh_run_finds_nothing_of_earlier_ones(folder: Path, write: Write) -> None:
    """Files, folders and links of theirs are out of sight, and in their places again in the end."""
    written = [write(name, "first") for name in ("step-6.pt", "step-12/model.pt")]
    written += ["/elsewhere/x.pt", str(folder)]
    (folder / "latest").symlink_to("step-6.pt")
    cleared = Cleared(folder, written, time.time() - LONG_AGO_S)
    assert files(folder) == {"mine.pt": "mine"}
    assert not (folder / "latest").is_symlink()
    cleared.put_back([])
    assert files(folder) == {
        **dict.fromkeys(("step-6.pt", "step-12/model.pt", "latest"), "first"),
        "mine.pt": "mine",
    }
    assert os.readlink(folder / "latest") == "step-6.pt"


def test_what_a_further_run_made_goes(folder: Path, write: Write) -> None:
    """Names that both have made are the first one's again; what somebody else made meanwhile stays."""
    cleared = Cleared(folder, [write("a.pt", "first"), write("b/x.pt", "first")], time.time() - LONG_AGO_S)
    write("mine.txt", "meanwhile")
    cleared.put_back([write(name, "second") for name in ("a.pt", "b/x.pt", "b/y.pt", "c.pt", "d/x.pt")])
    assert files(folder) == {"a.pt": "first", "b/x.pt": "first", "mine.pt": "mine", "mine.txt": "meanwhile"}


def test_what_was_there_before_stays(folder: Path, write: Write) -> None:
    """A file that has not changed since the probe began is not moved, nor a folder that holds one."""
    written = [write("logs/old.txt", "old"), str(folder / "mine.pt")]
    (folder / "link").symlink_to("mine.pt")
    time.sleep(TICK_S)
    since_unix_s = time.time()
    time.sleep(TICK_S)
    written += [write("logs/new.txt", "new"), write("a.pt", "first")]
    cleared = Cleared(folder, written, since_unix_s)
    kept = {"mine.pt": "mine", "link": "mine", "logs/old.txt": "old", "logs/new.txt": "new"}
    assert files(folder) == kept
    cleared.put_back(written)
    assert files(folder) == {**kept, "a.pt": "first"}


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """A script may remove the folder: then there is nothing to give back, and nothing fails."""
    cleared = Cleared(tmp_path / "gone", [str(tmp_path / "gone/a.pt")], 0.0)
    cleared.put_back([str(tmp_path / "gone/b.pt")])
    assert not list(tmp_path.iterdir())
