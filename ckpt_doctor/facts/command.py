"""Where the script stands in a command line."""

from __future__ import annotations

from collections.abc import Sequence

_LAUNCHERS = ("torch.distributed.", "accelerate.", "deepspeed.")
"""Modules that start a script, and are none themselves."""


def script_end(command: Sequence[str]) -> int | None:
    """How many words there are up to the script (``*.py``, or the module of ``-m``) and with it.

    None where the command names no script.
    """
    for index, word in enumerate(command):
        if word in ("-m", "--module") and index + 1 < len(command):
            if not command[index + 1].startswith(_LAUNCHERS):
                return index + 2
        elif word.endswith(".py"):
            return index + 1
    return None
