"""The command line that people type most: ``inspect``, paths, and at most a format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

_FORMAT_OPTIONS = ("--format", "-f")
COMPLETION = "_CKPT_DOCTOR_COMPLETE"
"""What a shell sets that asks what may follow."""


class PlainInspection(NamedTuple):
    """An inspection that needs no further option."""

    paths: tuple[str, ...]
    format_name: str


def plain_inspection(arguments: Sequence[str]) -> PlainInspection | None:
    """Recognise such a command line; None for any other, however little it differs.

    Completion of the shell and ``CKPT_DOCTOR_DEBUG`` are left to the full command line as well.
    """
    if not arguments or arguments[0] != "inspect" or os.environ.keys() & _OTHER_WISHES:
        return None
    paths: list[str] = []
    format_name = "text"
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in _FORMAT_OPTIONS:
            value = next(rest, None)
            if value is None:
                return None
            format_name = value
        elif argument.startswith("-"):
            return None
        else:
            paths.append(argument)
    return PlainInspection(tuple(paths), format_name) if paths else None


_OTHER_WISHES = frozenset({COMPLETION, "CKPT_DOCTOR_DEBUG"})
