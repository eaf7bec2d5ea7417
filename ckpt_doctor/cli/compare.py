"""``ckpt-doctor compare``: two recordings, or two checkpoints, laid side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ckpt_doctor import doctor
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.options import FailOn, FormatName, Ignored, InconclusiveOk, OutputFiles, Required
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.cli.policy import project_policy

_EXAMPLES = """\b
Examples:
  ckpt-doctor compare --before rec/monday --after rec/tuesday
  ckpt-doctor compare --before rec/monday --after rec/tuesday -o verdict.json
  ckpt-doctor compare --before run/step-500.pt --after run/last.pt
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("compare", epilog=_EXAMPLES)(compare)


def compare(
    before: Annotated[
        str, typer.Option("--before", metavar="PATH", help="The run before the resume, or its checkpoint.")
    ],
    after: Annotated[
        str, typer.Option("--after", metavar="PATH", help="The resumed run, or its checkpoint.")
    ],
    format_name: FormatName = "text",
    output: OutputFiles = None,
    fail_on: FailOn = None,
    inconclusive_ok: InconclusiveOk = None,
    ignored: Ignored = None,
    required: Required = None,
) -> None:
    """Name the cause of the difference between two recordings, or two checkpoints.

    Recordings are the folders that `record` and `probe` write. Runs that were recorded one after
    the other on a shared machine differ by more than a resume; `probe` interleaves them. Of two
    checkpoints it tells what changed inside: states lost and gained, options, dtypes, sizes.
    """
    destinations = Destinations(format_name, output)
    policy = project_policy(
        Path.cwd(),
        required=required or (),
        ignored=ignored or (),
        fail_on=fail_on,
        inconclusive_ok=inconclusive_ok,
    )
    with progress.shown() as show:
        show("comparing", None)
        report = doctor.compare(before, after, policy)
    raise typer.Exit(destinations.deliver(report, policy))
