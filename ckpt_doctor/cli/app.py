"""The command ``ckpt-doctor``: the one place where errors become words and exit codes.

Starting is most of what a look into a checkpoint costs, and most of that is the command-line library.
``inspect`` with nothing but paths and a format is therefore taken as it stands
(``ckpt_doctor.cli.plain``); every other command line goes through ``ckpt_doctor.cli.commands``.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.messages import tell, tell_line
from ckpt_doctor.cli.plain import COMPLETION, plain_inspection
from ckpt_doctor.cli.settings import Settings
from ckpt_doctor.errors import CkptDoctorError


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    arguments = sys.argv[1:]
    if plain_inspection(arguments) is None:
        sys.exit(run(arguments))
    gc.disable()  # What it makes is freed by its counts of references, or lives until the end, which is near.
    _leave(run(arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    settings = Settings()
    try:
        return _dispatch(arguments, settings)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except CkptDoctorError as error:
        _show_traceback(error, settings)
        tell(error)
    except SystemExit as ending:
        return _left_by_typer(ending)
    except Exception as error:  # noqa: BLE001 - a crash of our own must not look like findings
        _show_traceback(error, settings)
        _tell_crash(error)
    return ExitCode.COULD_NOT_RUN


def _leave(code: int) -> NoReturn:
    """End the process without taking it apart object by object: nothing is open but the two streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = ExitCode.COULD_NOT_RUN
    os._exit(code)


def _dispatch(arguments: Sequence[str], settings: Settings) -> int:
    plain = plain_inspection(arguments)
    if plain is not None:
        from ckpt_doctor.cli import inspection

        return inspection.run(plain.paths, plain.format_name)
    from ckpt_doctor.cli import commands

    return commands.call(arguments, settings)


def _left_by_typer(ending: SystemExit) -> int:
    """The exit code where Typer ended the command line by itself.

    It ends with 0 once completion was shown or installed, and with 1 where its reader has gone away: 1 would
    mean findings. To a shell that asks what may follow its code is an answer (fish goes by it).
    """
    code = ending.code
    if isinstance(code, int) and (code == 0 or COMPLETION in os.environ):
        return code
    return ExitCode.COULD_NOT_RUN


def _show_traceback(error: Exception, settings: Settings) -> None:
    if settings.debug:
        import traceback

        traceback.print_exception(error)


def _tell_crash(error: Exception) -> None:
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"line {frame.lineno} of {frame.filename}"
    tell_line(f"internal error: {type(error).__name__}: {error} ({where})")
    sys.stderr.write("  This is a fault of ckpt-doctor; --debug before the command shows the traceback.\n")
