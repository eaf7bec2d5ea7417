"""The commands of both runs, out of the user's words."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.command import script_end

CHECKPOINT = "{checkpoint}"


def started(words: Sequence[str]) -> tuple[str, ...]:
    """The command of the fresh run: a .py file or ``-m module`` runs with this Python, others as they are.

    Raises:
        UsageError: There is no command, or none of that name.
    """
    if not words:
        raise UsageError("no script to run", hint="Name it: train.py, -m package.train, or any command.")
    first = words[0]
    if first == "-m":
        if len(words) < 2:
            raise UsageError("-m needs the name of a module")
        return (sys.executable, *words)
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UsageError(f"{first}: no such file", hint=f"It is looked for in {Path.cwd()}.")
        return (sys.executable, *words)
    if shutil.which(first) is None:
        raise UsageError(f"{first}: no such command", hint="A Python script's name ends with .py.")
    return tuple(words)


def resumed(
    command: Sequence[str], resume_args: str | None, after_args: str | None, checkpoint: str
) -> tuple[str, ...]:
    """The command that resumes from a checkpoint.

    Args:
        command: The command as it is run fresh.
        resume_args: Template that is appended; ``{checkpoint}`` stands for the checkpoint.
        after_args: Template that replaces the script's own arguments instead.
        checkpoint: What to put in.

    Raises:
        UsageError: A template cannot be split into words, both are given, or no script is found.
    """
    if resume_args is not None and after_args is not None:
        raise UsageError("--resume-args and --after-args exclude each other", hint="give one of them")
    if after_args is not None:
        script, _ = split_script(command)
        return (*script, *_filled(after_args, checkpoint))
    if resume_args is not None:
        return (*command, *_filled(resume_args, checkpoint))
    return tuple(command)


def split_script(command: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a command behind its script (``*.py``, or the module of ``-m``) into head and arguments.

    Raises:
        UsageError: It names no script.
    """
    end = script_end(command)
    if end is None:
        raise UsageError(
            f"no script is found in: {shlex.join(command)}",
            hint="--after-args replaces what follows a *.py file or -m MODULE; use --resume-args instead",
        )
    return tuple(command[:end]), tuple(command[end:])


def _filled(template: str, checkpoint: str) -> list[str]:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise UsageError(f"the template {template!r} cannot be split into words: {error}") from error
    return [word.replace(CHECKPOINT, checkpoint) for word in words]
