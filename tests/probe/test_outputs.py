"""What one run saves is out of the other's sight, and there again in the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_doctor.probe.outputs import Outputs

Write = Callable[[str, str], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the checkpoint that both runs know."""
    (tmp_path / "step-10.pt").write_text("shared")
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


def seen(folder: Path) -> set[str]:
    """The names that a script would take for its own."""
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def test_each_run_sees_its_own(folder: Path, write: Write) -> None:
    """In its turn a run sees the shared checkpoint and its own saves, as if it were alone."""
    outputs = Outputs(folder)
    outputs.hide("before", [write("step-20.pt", "b"), write("step-30/model.pt", "b"), "/elsewhere/x.pt"])
    outputs.show("after")
    assert seen(folder) == {"step-10.pt"}
    outputs.hide("after", [write("step-20.pt", "a")])
    outputs.show("before")
    assert seen(folder) == {"step-10.pt", "step-20.pt", "step-30"}
    assert (folder / "step-20.pt").read_text() == (folder / "step-30/model.pt").read_text() == "b"
    outputs.hide("before", [])
    outputs.settle()


def test_what_an_arm_did_not_write_stays(folder: Path, write: Write) -> None:
    """Files of others, and the checkpoint itself, are never moved."""
    outputs = Outputs(folder)
    write("mine.txt", "somebody else's")
    outputs.hide("before", [str(folder / "step-10.pt"), str(folder / "gone.pt")])
    assert seen(folder) == {"step-10.pt", "mine.txt"}


def test_in_the_end_everything_is_back(folder: Path, write: Write) -> None:
    """Each file has its name again; of two with one name, the one that is in sight stays."""
    outputs = Outputs(folder)
    outputs.hide("before", [write("a.pt", "b"), write("b/x.pt", "b"), write("c.pt", "b")])
    outputs.hide("after", [write("a.pt", "a"), write("d.pt", "a"), write("b/x.pt", "a")])
    write("c.pt", "in sight")
    outputs.settle()
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {"step-10.pt", "a.pt", "b/x.pt", "c.pt", "d.pt"}
    assert [(folder / name).read_text() for name in ("a.pt", "b/x.pt", "c.pt", "d.pt")] == [
        "b", "b", "in sight", "a"
    ]  # fmt: skip


def test_the_uninterrupted_run_wins(folder: Path, write: Write) -> None:
    """Of several runs that made the same name, its file stays, whoever came last."""
    outputs = Outputs(folder)
    for arm in ("confirm-DAT204", "after", "before"):
        outputs.hide(arm, [write("a.pt", arm)])
    outputs.hide("confirm-CMP305", [write("b.pt", "confirm-CMP305")])
    outputs.hide("after", [write("b.pt", "after")])
    outputs.settle()
    assert (folder / "a.pt").read_text() == "before"
    assert (folder / "b.pt").read_text() == "after"


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """A run may remove the folder: nothing is hidden then, and nothing fails."""
    outputs = Outputs(tmp_path / "gone")
    outputs.hide("before", [str(tmp_path / "gone/a.pt")])
    outputs.show("before")
    outputs.settle()
    assert not list(tmp_path.iterdir())
