"""A journal is on disk after each flush, in whole lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpt_doctor.agent.journal import Journal, told
from ckpt_doctor.facts.recording import JOURNAL_KIND as KIND
from ckpt_doctor.facts.recording import JOURNAL_VERSION as VERSION


def lines(path: Path) -> list[object]:
    """The journal's lines, decoded."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_are_on_disk_after_a_flush(tmp_path: Path) -> None:
    """The header comes first; what was added is there after flush or close, and not before."""
    path = tmp_path / "rank00000-1.jsonl"
    journal = Journal(path, {"rank": 3})
    journal.add(["n", 0])
    assert path.read_bytes() == b""
    journal.flush()
    assert lines(path) == [{"kind": KIND, "version": VERSION, "rank": 3}, ["n", 0]]
    journal.add(["t"])
    journal.close()
    assert lines(path)[2:] == [["t"]]


def test_a_flush_without_news_writes_nothing(tmp_path: Path) -> None:
    """Flushing twice does not write twice."""
    path = tmp_path / "journal"
    journal = Journal(path, {})
    journal.flush()
    size = path.stat().st_size
    journal.flush()
    journal.close()
    assert path.stat().st_size == size


def test_any_value_can_be_written(tmp_path: Path) -> None:
    """Values that JSON does not know are written as text, and lone surrogates do not stop it."""
    path = tmp_path / "journal"
    journal = Journal(path, {})
    journal.add(["e", Path("a"), "\udcff\n"])
    journal.close()
    assert lines(path)[1] == ["e", "a", "\udcff\n"]


def test_what_has_to_be_worked_out(tmp_path: Path) -> None:
    """A digest is worked out as its line is made; a line that has been made is written as it is."""
    path, known = tmp_path / "journal", ["i:1a"]
    journal = Journal(path, {})
    journal.add(told(["m", [[1]], [[[(4, 3)], lambda: known[0]]]]))
    journal.add(["m", [[2]], [[[(4, 3)], lambda: known[0]]]])
    known[0] = "i:2b"
    journal.close()
    assert lines(path)[1:] == [["m", [[1]], [[[[4, 3]], "i:1a"]]], ["m", [[2]], [[[[4, 3]], "i:2b"]]]]


def test_a_journal_is_never_overwritten(tmp_path: Path) -> None:
    """A file of that name is an error, not a place to write to."""
    path = tmp_path / "journal"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        Journal(path, {})
    assert path.read_text() == "mine"
