"""Which checkpoints of a folder are whole, and in what order."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.resume.store import Store, check_whole


def save(store: Store, step: int, content: str = "x") -> Path:
    """Add a checkpoint with one file."""

    def write(folder: Path) -> None:
        (folder / "state.pt").write_text(content)

    return store.save(step, write)


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_saved_twice(tmp_path: Path) -> None:
    """A step that is saved again replaces what it saved before."""
    store = Store(tmp_path, None)
    save(store, 5, "first")
    path = save(store, 5, "second")
    assert names(tmp_path) == ["step-00000005"]
    assert (path / "state.pt").read_text() == "second"
    assert store.newest_whole() == (path, [])


def test_killed_between_two_renames(tmp_path: Path) -> None:
    """Where the old folder had made room and the new one was not there yet, the old one is still good."""
    store = Store(tmp_path, 1)
    path = save(store, 5)
    aside = path.rename(tmp_path / "step-00000005.replaced")
    assert store.newest_whole() == (aside, [])
    assert names(tmp_path) == ["step-00000005.replaced"]
    save(store, 6)
    assert names(tmp_path) == ["step-00000006"]


def test_what_was_left_over_is_cleared(tmp_path: Path) -> None:
    """Unfinished folders are no checkpoints, and the next save clears them; what is not ours stays."""
    store = Store(tmp_path, None)
    for name in ("step-00000001.tmp", "step-00000002.replaced.tmp", "mine"):
        (tmp_path / name).mkdir()
    assert store.newest_whole() == (None, [])
    save(store, 3)
    assert names(tmp_path) == ["mine", "step-00000003"]


def test_not_a_checkpoint(tmp_path: Path) -> None:
    """A folder without a manifest is refused, with what is missing."""
    with pytest.raises(CheckpointError, match=r"no readable manifest\.json"):
        check_whole(tmp_path)
