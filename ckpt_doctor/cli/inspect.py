"""``ckpt-doctor inspect``: what a checkpoint holds, and what a run that resumes from it will miss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ckpt_doctor import doctor
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.messages import tell
from ckpt_doctor.cli.options import FailOn, FormatName, Ignored, OutputFiles, Required
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.cli.policy import project_policy

_EXAMPLES = """\b
Examples:
  ckpt-doctor inspect runs/x/last.pt
  ckpt-doctor inspect --require sampler_rng --format json runs/x/
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
    destinations = Destinations(format_name, output)
    policy = project_policy(Path.cwd(), required=required or (), ignored=ignored or (), fail_on=fail_on)
    with progress.shown() as show:
        show("reading", None)
        report, errors = doctor.inspect(paths, policy)
    code = destinations.deliver(report, policy) if report.checkpoints else ExitCode.COULD_NOT_RUN
    for error in errors:
        tell(error)
    raise typer.Exit(ExitCode.COULD_NOT_RUN if errors else code)
