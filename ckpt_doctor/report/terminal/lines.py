"""Text as lines of a terminal: how many columns it takes, where it breaks, and the colours around it.

Colours are the first eight of every terminal (ECMA-48, select graphic rendition), so that they follow
its theme. Written out here because a library for terminals takes longer to import than a checkpoint to read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

Span = tuple[str, str]
"""Text and its style: words of ``_CODES``, or nothing."""

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_WORD = re.compile(r"[^ ]+")


def width_of(text: str) -> int:
    """How many columns a text takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_width_of_one, text))


def breaks(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the lines of a text begin and end: at spaces, and within words that are wider than a line."""
    start = end = used = 0
    for word in _WORD.finditer(text):
        gap, taken = word.start() - end, width_of(word[0])
        if used + gap + taken > width:
            if end > start:
                yield start, end
            start, used, gap = word.start(), 0, 0
        used += gap + taken
        end = word.end()
        if used > width:
            for cut in _cuts(text, start, end, width):
                yield start, cut
                start = cut
            used = width_of(text[start:end])
    yield start, end


def wrapped(spans: Sequence[Span], width: int) -> list[list[Span]]:
    """Spans as lines of at most so many columns."""
    text = "".join(words for words, _ in spans)
    return [list(_between(spans, start, end)) for start, end in breaks(text, width)]


def painted(spans: Iterable[Span], colour: bool) -> str:
    """A line as it is written; without colour it holds no escape sequence."""
    return "".join(_painted(words, style) if colour else words for words, style in spans)


@lru_cache(1024)
def _width_of_one(character: str) -> int:
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me") else 1


def _cuts(text: str, start: int, end: int, width: int) -> Iterator[int]:
    """Where a word is cut that is wider than a line."""
    used = 0
    for at in range(start, end):
        taken = _width_of_one(text[at])
        if used and used + taken > width:
            yield at
            used = 0
        used += taken


def _between(spans: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    at = 0
    for words, style in spans:
        part = words[max(0, start - at) : max(0, end - at)]
        if part:
            yield part, style
        at += len(words)


def _painted(words: str, style: str) -> str:
    if not style or not words:
        return words
    codes = ";".join(_CODES[name] for name in style.split())
    return f"\x1b[{codes}m{words}\x1b[0m"
