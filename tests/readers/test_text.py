"""Foreign text, made safe to show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.readers.text import MAX_CHARACTERS, clean


@given(st.text())
def test_everything_that_is_shown_prints(text: str) -> None:
    """No control character, no mark of direction and no surrogate is left."""
    assert clean(text).isprintable()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=MAX_CHARACTERS))
def test_plain_text_stays(text: str) -> None:
    """Printable text is left alone."""
    assert clean(text) == text


def test_long_text_is_cut() -> None:
    """The cut is marked and does not exceed the limit."""
    assert clean("x" * 1000, 10) == "x" * 9 + "…"


def test_escapes_tell_what_was_there() -> None:
    """What does not print is written as its code."""
    assert clean("\x1b[31m\u202e\U000e0001") == "\\x1b[31m\\u202e\\U000e0001"
