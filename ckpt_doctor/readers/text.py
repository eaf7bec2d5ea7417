"""Text from a file, made safe to show.

Keys and class names of a checkpoint are chosen by whoever wrote the file: they can hold escape
sequences, line breaks, characters that turn the writing direction, or megabytes.
"""

from __future__ import annotations

MAX_CHARACTERS = 200
"""Longest piece of foreign text that is shown whole."""


def clean(text: str, limit: int = MAX_CHARACTERS) -> str:
    """The text with every character that does not print written as an escape, cut to a length."""
    if len(text) <= limit and text.isprintable():
        return text
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else _escape(c) for c in cut)


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
