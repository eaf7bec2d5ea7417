"""``ckpt-doctor compare``: two runs, or two checkpoints, laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckpt_doctor import doctor
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.options import FailOn, FormatName, Ignored, InconclusiveOk, OutputFiles, Required
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.cli.policy import project_policy
from ckpt_doctor.errors import UsageError

if TYPE_CHECKING:
    from ckpt_doctor.readers.evidence import Hints

_EXAMPLES = """\b
Examples:
  ckpt-doctor compare --before rec/mon --after rec/tue
  ckpt-doctor compare --before rec/mon --after rec/tue \\
      -o verdict.html -o verdict.json
  ckpt-doctor compare --before first.pt --after last.pt
  ckpt-doctor compare --before base.json --after now.json
  ckpt-doctor compare --before a.pt.trace.json.gz \\
      --after b.pt.trace.json.gz
  ckpt-doctor compare --before out/runs/first \\
      --after out/runs/resumed
  ckpt-doctor compare --before a.log --after b.log \\
      --log-pattern \\
      'step (?P<step>\\d+).*?(?P<step_s>[\\d.]+) s/it'
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("compare", epilog=_EXAMPLES)(compare)


def compare(
    before: Annotated[
        str,
        typer.Option(
            "--before",
            metavar="PATH",
            help="The run before the resume, its checkpoint, or a report in JSON that is the baseline.",
        ),
    ],
    after: Annotated[
        str,
        typer.Option("--after", metavar="PATH", help="The resumed run, its checkpoint, or its report."),
    ],
    format_name: FormatName = "text",
    output: OutputFiles = None,
    fail_on: FailOn = None,
    inconclusive_ok: InconclusiveOk = None,
    ignored: Ignored = None,
    required: Required = None,
    log_pattern: Annotated[
        str | None,
        typer.Option(
            "--log-pattern",
            metavar="REGEX",
            help="How to read plain logs: a regular expression for their lines, with named groups such as "
            "step, step_s, step_ms, time, steps_per_s, data_wait_s.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="FIELD=NAME",
            help="What a column of a table is called, as step=iteration or step_ms=dt. "
            "May be given several times.",
        ),
    ] = None,
) -> None:
    """Name the cause of a difference between two runs or checkpoints.

    Runs are the folders that `record` and `probe` write, or what people have without them: traces of
    torch.profiler, TensorBoard folders (also those within an output folder of the Hugging Face Trainer or of
    Lightning), trainer_state.json, tables of steps (CSV or JSON lines) and plain logs. What such evidence
    cannot tell is not evaluated. Runs that went one after the other on a shared machine differ by more than a
    resume; `probe` interleaves them. Of two checkpoints it tells what changed inside: states lost and gained,
    options, dtypes, sizes. Of a report or a checkpoint that is held against a baseline only what is new is
    told, and fails.
    """
    destinations = Destinations(format_name, output)
    policy = project_policy(
        Path.cwd(),
        required=required or (),
        ignored=ignored or (),
        fail_on=fail_on,
        inconclusive_ok=inconclusive_ok,
    )
    hints = _hints(log_pattern, columns or ())
    with progress.shown() as show:
        show("comparing", None)
        report = doctor.compare(before, after, policy, hints, show)
    raise typer.Exit(destinations.deliver(report, policy))


def _hints(log_pattern: str | None, columns: Sequence[str]) -> Hints:
    """How evidence is read that does not explain itself.

    Raises:
        UsageError: A column is given in another form, or twice.
    """
    from ckpt_doctor.readers.evidence import Hints

    named: dict[str, str] = {}
    for text in columns:
        field, equals, name = text.partition("=")
        if not equals or not name or field in named:
            raise UsageError(f"--column {text}: give one FIELD=NAME for each field, as step_s=iter_time")
        named[field] = name
    return Hints(log_pattern, named)
