"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ckpt_doctor.facts.report import Severity
from ckpt_doctor.report import format_names

FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help=f"Format of the report on standard output: {', '.join(format_names())}.",
        autocompletion=lambda: list(format_names()),
    ),
]
OutputFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="[FORMAT:]FILE",
        help="Also write the report here, in this format or the one that the file's ending names "
        "(else --format). May be given several times.",
    ),
]
FailOn = Annotated[
    Severity | None,
    typer.Option("--fail-on", help="Least severity that makes the exit code 1 (default: error)."),
]
InconclusiveOk = Annotated[
    bool | None,
    typer.Option(
        "--inconclusive-ok/--inconclusive-fails",
        help="Exit 0, not 3, where the measurement is too weak to say.",
        show_default=False,
    ),
]
Ignored = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="CODE", help="Leave out findings of this rule. May be given several times."
    ),
]
Required = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="STATE",
        help="Demand this kind of state of every checkpoint, as sampler_rng. May be given several times.",
    ),
]
