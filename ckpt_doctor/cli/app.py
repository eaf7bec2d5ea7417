"""The command ``ckpt-doctor``: its subcommands, and the one place where errors become words and exit codes.

What is slow to import is imported when a command runs: ``--help``, ``--version`` and shell
completion must answer at once.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from ckpt_doctor import __version__
from ckpt_doctor.cli import compare, demo, env, explain, inspect, probe, record
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.messages import PROGRAM, tell, tell_line
from ckpt_doctor.errors import CkptDoctorError

_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Base of typer's errors of usage, which has no public name that all its versions share."""

_EPILOG = """\b
Examples:
  ckpt-doctor demo                      a script with a real fault, probed
  ckpt-doctor probe train.py --lr 1e-3  your script, fresh and resumed
  ckpt-doctor inspect runs/x/last.pt    a checkpoint, without loading it

\b
Exit codes:
  0  nothing at or above --fail-on
  1  findings at or above it
  2  could not run
  3  inconclusive (0 with --inconclusive-ok)
`record` exits as its script does.
"""

app = typer.Typer(
    name=PROGRAM,
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (inspect, probe, record, compare, explain, demo, env):
    _command.add_to(app)


@dataclass
class Settings:
    """What stands before the subcommand and outlives its failure."""

    debug: bool = False


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    settings = Settings()
    try:
        code = app(args=list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=settings)
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except CkptDoctorError as error:
        _show_traceback(error, settings)
        tell(error)
    except _USAGE_ERROR as error:
        _tell_usage(error)
    except SystemExit:
        # Typer exits with 1 where its reader has gone away; 1 would mean findings.
        return ExitCode.COULD_NOT_RUN
    except Exception as error:  # noqa: BLE001 - a crash of our own must not look like findings
        _show_traceback(error, settings)
        _tell_crash(error)
    else:
        return int(code or ExitCode.OK)
    return ExitCode.COULD_NOT_RUN


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", envvar="CKPT_DOCTOR_DEBUG", help="Show the traceback of an error.", show_envvar=True
        ),
    ] = False,
) -> None:
    """Find out why a PyTorch run became slower after it was resumed from a checkpoint."""
    context.obj.debug = debug
    if version:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit(ExitCode.OK)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.COULD_NOT_RUN)


def _show_traceback(error: Exception, settings: Settings) -> None:
    if settings.debug:
        traceback.print_exception(error)


def _tell_usage(error: Exception) -> None:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    tell_line(message)
    sys.stderr.write(f"  Try '{context.command_path if context else PROGRAM} --help'.\n")


def _tell_crash(error: Exception) -> None:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"line {frame.lineno} of {frame.filename}"
    tell_line(f"internal error: {type(error).__name__}: {error} ({where})")
    sys.stderr.write("  This is a fault of ckpt-doctor; --debug before the command shows the traceback.\n")
