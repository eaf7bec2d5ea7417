"""``ckpt-doctor inspect``: what a checkpoint holds, and what a run that resumes from it will miss."""

from __future__ import annotations

from typing import Annotated

import typer

from ckpt_doctor.cli import inspection
from ckpt_doctor.cli.options import FailOn, FormatName, Ignored, OutputFiles, Required

_EXAMPLES = """\b
Examples:
  ckpt-doctor inspect runs/x/last.pt
  ckpt-doctor inspect --require sampler_rng -f json runs/x
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("inspect", epilog=_EXAMPLES)(inspect)


def inspect(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="CHECKPOINT", help="Checkpoint files or folders.", show_default=False),
    ],
    format_name: FormatName = "text",
    output: OutputFiles = None,
    fail_on: FailOn = None,
    ignored: Ignored = None,
    required: Required = None,
) -> None:
    """Check what checkpoints hold, without loading them.

    Tells which states are there, which a resume will miss, and what that costs. Nothing in a
    checkpoint is executed, no tensor is read and torch is not imported, so that files of any size
    and from anyone take a fraction of a second.
    """
    code = inspection.run(
        paths,
        format_name,
        output=output or (),
        required=required or (),
        ignored=ignored or (),
        fail_on=fail_on,
    )
    raise typer.Exit(code)
