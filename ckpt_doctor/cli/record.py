"""``ckpt-doctor record``: one run, recorded while it goes on as it would alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ckpt_doctor import doctor
from ckpt_doctor.cli.script import CONTEXT, ScriptWords, option_names, script_command

_EXAMPLES = """\b
Examples:
  ckpt-doctor record -o rec/mon train.py --epochs 3
  ckpt-doctor record -o rec/mon -- \\
      torchrun --nproc-per-node 2 train.py
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("record", epilog=_EXAMPLES, context_settings=CONTEXT)(record)


def record(
    context: typer.Context,
    words: ScriptWords,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the recording goes.")
    ],
) -> None:
    """Record a run for `compare`, lightly enough to be left on.

    The script is not edited; its output, its exit code and its random numbers stay as they are.
    The exit code is the script's own (128 + n where signal n ended it); 2 where it could not be started.
    """
    command = script_command(words, option_names(context))
    raise typer.Exit(doctor.record(command, output))
