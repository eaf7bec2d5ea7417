"""A screen of lines, paragraphs and tables."""

from __future__ import annotations

from ckpt_doctor.report.terminal.screen import Column, Screen


def test_paragraphs_wrap_and_hang() -> None:
    """A paragraph beside a label hangs beside it on every line."""
    screen = Screen(width=30, colour=False)
    screen.labelled("Fix:", "put the state back before the first step")
    lines = screen.text().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Fix: put")
    assert lines[1].startswith("     ")


def test_tables_lean_and_have_no_trailing_spaces() -> None:
    """Right-leaning columns end at the same place, and no line ends with spaces."""
    screen = Screen(width=40, colour=False)
    screen.table([Column("part"), Column("time", right=True)], [["data", "1 ms"], ["rest", "100 ms"]])
    lines = screen.text().splitlines()
    assert [len(line) for line in lines] == [len(lines[1])] * 3
    assert all(line == line.rstrip() for line in lines)


def test_very_wide_terminals_do_not_make_long_lines() -> None:
    """On a very wide terminal lines end where they are still easy to read."""
    screen = Screen(width=500, colour=False)
    screen.line("word " * 100)
    assert max(len(line) for line in screen.text().splitlines()) <= 120
