"""Text as lines of a terminal."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ckpt_doctor.report.terminal.lines import breaks, painted, width_of, wrapped

WORDS = st.text(alphabet="ab -大é█\u0301", max_size=60)
SPANS = st.lists(st.tuples(WORDS, st.sampled_from(["", "bold", "bold red", "dim"])), max_size=5)


def lines_of(text: str, width: int) -> list[str]:
    """The lines that a text becomes."""
    return [text[start:end] for start, end in breaks(text, width)]


@pytest.mark.parametrize("text", ["plain", "größe ×1.53 █", "大小", "e\u0301"])
def test_columns_are_those_of_terminals(text: str) -> None:
    """Wide characters count twice and combining ones not at all, as an independent table says."""
    assert width_of(text) == cell_len(text)


@given(WORDS, st.integers(2, 30))
def test_lines_fit_and_hold_everything(text: str, width: int) -> None:
    """No line is too wide or begins with the space at which the one before it ends, and no letter is lost."""
    lines = lines_of(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert not [line for line in lines[1:] if line.startswith(" ")]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.lists(st.text("ab-大é█", min_size=1, max_size=12)), st.integers(2, 30))
def test_only_long_words_are_cut(words: list[str], width: int) -> None:
    """A word that fits into a line stays whole, and a line takes every word that fits."""
    lines = lines_of(" ".join(words), width)
    assert {word for word in words if width_of(word) <= width} <= {
        word for line in lines for word in line.split(" ")
    }
    for line, following in pairwise(lines):
        assert width_of(f"{line} {following.split(' ')[0]}") > width


def test_styles_follow_their_words() -> None:
    """A style goes on where its words do, on the next line too."""
    assert wrapped([("one ", ""), ("two three", "bold")], 8) == [
        [("one ", ""), ("two", "bold")],
        [("three", "bold")],
    ]


@given(SPANS, st.integers(2, 30))
def test_colour_changes_no_letter(spans: list[tuple[str, str]], width: int) -> None:
    """With colour and without, the same lines are written."""
    for line in wrapped(spans, width):
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted(line, True)) == painted(line, False)


def test_what_is_written_for_a_colour() -> None:
    """A styled piece sets its attributes and takes all of them back."""
    assert painted([("a ", ""), ("b", "bold red")], True) == "a \x1b[1;31mb\x1b[0m"
