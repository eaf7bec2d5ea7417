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


def test_narrow_terminals_shrink_the_widest_columns() -> None:
    """A table that is too wide wraps its long cells; short ones stay whole."""
    screen = Screen(width=30, colour=False)
    screen.table(
        [Column(""), Column("", right=True)], [["a rather long description of it", "12.4 MB"]], indent=2
    )
    lines = screen.text().splitlines()
    assert all(len(line) <= 30 for line in lines)
    assert lines[0].endswith("12.4 MB")
    assert " ".join(" ".join(lines).replace("12.4 MB", "").split()) == "a rather long description of it"


def test_wide_characters_are_aligned_by_their_columns() -> None:
    """A cell of Chinese takes two columns a character, so that the next column stands straight."""
    screen = Screen(width=40, colour=False)
    screen.table([Column("path"), Column("size")], [["数据", "1 MB"], ["data", "2 MB"]])
    assert screen.text() == "path  size\n数据  1 MB\ndata  2 MB\n"


def test_colour_and_what_the_colour_is_of() -> None:
    """Headings are faint, styles of columns and cells colour their text, and spaces stay uncoloured."""
    screen = Screen(width=40, colour=True)
    screen.table([Column("a", style="bold"), Column("b")], [["x", ("long", "red")]])
    assert screen.text() == "\x1b[2ma\x1b[0m  \x1b[2mb\x1b[0m\n\x1b[1mx\x1b[0m  \x1b[31mlong\x1b[0m\n"


def test_an_empty_screen() -> None:
    """Nothing written is an empty line."""
    assert Screen(width=40, colour=True).text() == "\n"
