"""The user's command, from the words that stand behind our options."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Annotated

import typer

from ckpt_doctor.errors import UsageError
from ckpt_doctor.probe.commands import started

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
    """The command to start.

    Args:
        words: What stood behind our options.
        options: Names of our own options, to guess what a misspelt one was meant to be.

    Raises:
        UsageError: There is no command, or none of that name.
    """
    first = words[0] if words else ""
    if first.startswith("-") and first != "-m":
        raise UsageError(f"there is no option {first}", hint=_meant(first, options))
    return started(words)


def _meant(word: str, options: Sequence[str]) -> str:
    close = difflib.get_close_matches(word.partition("=")[0], options, n=1)
    return f"Did you mean {close[0]}?" if close else "The script's own options stand behind its name."
