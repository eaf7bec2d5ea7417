"""Text that cannot control a terminal. Keys, paths and output lines come from anywhere."""

from __future__ import annotations

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that move the cursor, hide or turn text, or cannot be encoded."""


def harmless(text: str) -> str:
    """Replace line breaks and tabs by spaces, and every other unsafe character by its escape sequence."""
    if text.isprintable():  # Python's notion of printable leaves out all of these, and more.
        return text
    return "".join(_escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in text)


def _escaped(char: str) -> str:
    if char in "\n\t":
        return " "
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")
