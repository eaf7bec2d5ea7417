"""Words that several repairs use to say what they did."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things, as ``1 tensor`` or ``8 tensors``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
