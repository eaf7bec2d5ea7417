"""The subcommands of ``ckpt-doctor``, and the options that stand before them.

What is slow to import is imported when a command runs: ``--help``, ``--version`` and shell
completion must answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ckpt_doctor import __version__
from ckpt_doctor.cli import compare, demo, env, explain, inspect, probe, record, treat
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.messages import PROGRAM
from ckpt_doctor.cli.settings import Settings
from ckpt_doctor.errors import UsageError

_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Base of typer's errors of usage, which has no public name that all its versions share."""

_EPILOG = """\b
Examples:
  ckpt-doctor demo
      a script with a real fault, probed
  ckpt-doctor probe train.py --lr 1e-3
      your script, fresh and resumed
  ckpt-doctor inspect runs/x/last.pt
      a checkpoint, without loading it

\b
Exit codes:
  0    nothing at or above --fail-on
  1    findings at or above it
  2    could not run
  3    inconclusive (0 with --inconclusive-ok)
  130  stopped with Ctrl-C
`record` exits as its script does.
"""

app = typer.Typer(
    name=PROGRAM,
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (inspect, probe, record, compare, treat, explain, demo, env):
    _command.add_to(app)


def call(arguments: Sequence[str], settings: Settings) -> int:
    """Run one command line and return its exit code.

    Raises:
        UsageError: The command line is wrong.
        KeyboardInterrupt: It was stopped.
    """
    try:
        code = app(args=list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=settings)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _USAGE_ERROR as error:
        raise _in_one_line(error) from error
    if code and not settings.read:
        return ExitCode.COULD_NOT_RUN  # Typer has no completion for this shell.
    return int(code or ExitCode.OK)


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
    context.obj.read = True
    if version:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit(ExitCode.OK)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.COULD_NOT_RUN)


def _in_one_line(error: Exception) -> UsageError:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    return UsageError(message, hint=f"Try '{context.command_path if context else PROGRAM} --help'.")
