"""The user's command, from the words that stand behind our options."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ckpt_doctor.errors import UsageError

CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": True}
"""Everything from the first word on is the script's own; ``-m`` must be able to be that word."""


ScriptWords = Annotated[
    list[str],
    typer.Argument(
        metavar="SCRIPT",
        help="The training script (or -m module, or any command) and its own arguments.",
        show_default=False,
    ),
]
"""The words that stand behind our options."""


def option_names(context: typer.Context) -> list[str]:
    """The long options of the command that is running."""
    names = (name for parameter in context.command.params for name in parameter.opts)
    return [name for name in names if name.startswith("--")]


def script_command(words: Sequence[str], options: Sequence[str] = ()) -> tuple[str, ...]:
    """The command to start: a .py file or ``-m module`` runs with this Python, anything else as it is.

    Args:
        words: What stood behind our options.
        options: Names of our own options, to guess what a misspelt one was meant to be.

    Raises:
        UsageError: There is no command, or none of that name.
    """
    if not words:
        raise UsageError("no script to run", hint="Name it behind the options: ckpt-doctor probe train.py")
    first = words[0]
    if first == "-m":
        if len(words) < 2:
            raise UsageError("-m needs the name of a module")
        return (sys.executable, *words)
    if first.startswith("-"):
        raise UsageError(f"there is no option {first}", hint=_meant(first, options))
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UsageError(f"{first}: no such file")
        return (sys.executable, *words)
    if shutil.which(first) is None:
        raise UsageError(f"{first}: no such command", hint="A Python script's name ends with .py.")
    return tuple(words)


def _meant(word: str, options: Sequence[str]) -> str:
    close = difflib.get_close_matches(word.partition("=")[0], options, n=1)
    return f"Did you mean {close[0]}?" if close else "The script's own options stand behind its name."
