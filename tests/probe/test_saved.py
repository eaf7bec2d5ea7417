"""Out of what a script saved comes the one path that a resume is given."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ckpt_doctor.probe.saved import Save, checkpoint_of, newest, saves, step_at
from tests.recorded import ended, write_journal

OLD_S = 3600.0


@pytest.fixture
def began() -> float:
    """When the step before the save ended."""
    return time.time()


def write(path: Path, size: int = 1000, age_s: float = 0.0) -> str:
    """Write a file; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    if age_s:
        os.utime(path, (time.time() - age_s,) * 2)
    return str(path)


def save(path: str | None, began: float) -> Save:
    """A save of step 3."""
    return Save(path, 3, began, beside=False)


def test_one_file(tmp_path: Path, began: float) -> None:
    """A single file is the checkpoint."""
    path = write(tmp_path / "runs/last.pt")
    write(tmp_path / "runs/log.txt")
    assert checkpoint_of([save(path, began)], [], []) == Path(path)


def test_a_file_that_was_moved_into_its_place(tmp_path: Path, began: float) -> None:
    """An atomic save writes beside its target: the target counts, also where its folder was moved."""
    final = write(tmp_path / "last.pt")
    moves = [[str(tmp_path / "last.pt.tmp"), final]]
    assert checkpoint_of([save(str(tmp_path / "last.pt.tmp"), began)], [], moves) == Path(final)
    inside = write(tmp_path / "step-3/model.pt")
    moves = [[str(tmp_path / "tmp"), str(tmp_path / "step-3")]]
    assert checkpoint_of([save(str(tmp_path / "tmp/model.pt"), began)], [], moves) == Path(inside)


def test_last_and_best(tmp_path: Path, began: float) -> None:
    """The same state under two names is one checkpoint."""
    last, best = write(tmp_path / "last.pt"), write(tmp_path / "best.pt", 1001)
    assert checkpoint_of([save(last, began), save(best, began)], [], []) in (Path(last), Path(best))


def test_a_folder_of_several_files(tmp_path: Path, began: float) -> None:
    """Files of one save in a folder made for it: the folder is the checkpoint."""
    paths = [write(tmp_path / "step-3/model.pt", 9000), write(tmp_path / "step-3/rng/0.pt", 200)]
    assert checkpoint_of([save(path, began) for path in paths], [], []) == tmp_path / "step-3"


def test_files_in_a_folder_that_holds_more(tmp_path: Path, began: float) -> None:
    """In a folder that was there before, the largest file is the checkpoint."""
    write(tmp_path / "runs/readme", age_s=OLD_S)
    paths = [write(tmp_path / "runs/model.pt", 9000), write(tmp_path / "runs/metrics.pt", 300)]
    assert checkpoint_of([save(path, began) for path in paths], [], []) == Path(paths[0])


def test_a_distributed_checkpoint(tmp_path: Path, began: float) -> None:
    """A folder that a library saved to is the checkpoint."""
    files = [write(tmp_path / "dcp/__0_0.distcp"), write(tmp_path / "dcp/.metadata")]
    saved = [save(str(tmp_path / "dcp"), began), *(save(path, began) for path in files)]
    assert checkpoint_of(saved, [], []) == tmp_path / "dcp"


def test_a_buffer_that_was_written(tmp_path: Path, began: float) -> None:
    """A save into a buffer ends up in a file that Python opened, unless that file is a log."""
    path = write(tmp_path / "from_buffer.pt", 5000)
    old = write(tmp_path / "old.pt", 50_000, age_s=OLD_S)
    log = write(tmp_path / "log.txt", 10)
    assert checkpoint_of([save(None, began)], [log, path, old], []) == Path(path)


def test_nothing_that_could_be_loaded(tmp_path: Path, began: float) -> None:
    """Without saves, or where what was saved is gone, old or next to empty, there is none."""
    assert checkpoint_of([], [], []) is None
    assert checkpoint_of([save(str(tmp_path / "gone.pt"), began)], [], []) is None
    old, small = write(tmp_path / "old.pt", age_s=OLD_S), write(tmp_path / "small.pt", 10)
    assert checkpoint_of([save(old, began), save(small, began)], [], []) is None
    assert checkpoint_of([save(None, began)], [], []) is None


def test_newest(tmp_path: Path, began: float) -> None:
    """Of a glob's matches, the newest that is not older than the probe; folders count as well."""
    write(tmp_path / "a/1.pt", age_s=OLD_S)
    second = write(tmp_path / "a/2.pt", age_s=1)
    third = write(tmp_path / "b/3.pt")
    pattern = str(tmp_path / "**/*.pt")
    assert newest(pattern, began - 10) == Path(third)
    assert newest(str(tmp_path / "a/*.pt"), began - 10) == Path(second)
    assert newest(str(tmp_path / "a/*.pt"), began) is None
    assert newest(str(tmp_path / "none*"), 0) is None


def test_saves_of_all_ranks(tmp_path: Path) -> None:
    """They come in the order of their steps, each with the end of the step before it, or its own start."""
    header = {"unix_minus_monotonic_s": 1000.0}
    for rank, number in ((0, 7), (1, 5)):
        fields = {"path": f"/{rank}.pt", "function": "torch.save", **({"beside": True} if rank else {})}
        steps = [ended(index + 0.5) for index in range(number)]
        lines = [header, ["e", "imports", 1.0, 0, None, {}], ["e", "save", 9.0, number, 0.5, fields], *steps]
        write_journal(tmp_path / f"rank{rank}.jsonl", lines)
    (tmp_path / "rank2.jsonl").write_text("")
    assert saves(tmp_path.glob("rank*.jsonl")) == [
        Save("/1.pt", 5, 1008.5, beside=True),
        Save("/0.pt", 7, 1006.5, beside=False),
    ]


def test_the_step_of_a_moment(tmp_path: Path) -> None:
    """A file's time says during which step it was written; beyond the last step nothing is known."""
    lines = [{"unix_minus_monotonic_s": 1000.0}, *(ended(i + 0.9) for i in range(5))]
    journal = write_journal(tmp_path / "rank00000-1.jsonl", lines)
    assert step_at([journal], 1003.5) == 3
    assert step_at([journal], 1010.0) is None


def test_a_save_before_the_first_step_is_no_progress(tmp_path: Path) -> None:
    """What is saved before anything was learnt cannot be resumed from."""
    lines = [{"unix_minus_monotonic_s": 0.0}, ["e", "save", 1.0, 0, 0.1, {"path": "/init.pt"}]]
    assert saves([write_journal(tmp_path / "rank00000-1.jsonl", lines)]) == []


def test_a_line_that_is_being_written(tmp_path: Path) -> None:
    """It is read the next time; so is a save whose step's end has not been written yet."""
    header, save = {"unix_minus_monotonic_s": 0.0}, ["e", "save", 2.0, 1, 0.1, {"path": "/c.pt"}]
    journal = write_journal(tmp_path / "rank00000-1.jsonl", [header, save])
    assert saves([journal]) == []
    write_journal(journal, [header, save, ended(1.5)])
    whole = journal.read_text()
    journal.write_text(whole[:-5])
    assert saves([journal]) == []
    journal.write_text(whole)
    assert saves([journal]) == [Save("/c.pt", 1, 1.5, beside=False)]
