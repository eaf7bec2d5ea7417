"""Hands a report over: to standard output, to files, and to the shell as an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckpt_doctor.cli.exit_codes import exit_code
from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report
from ckpt_doctor.report import Format, format_for_suffix, format_names, load_format

if TYPE_CHECKING:
    from pathlib import Path

_PIPE_WIDTH = 80


class Destinations:
    """Where a report goes. Made before the work begins, so that a wrong path costs no measurement.

    Args:
        format_name: Format on standard output.
        files: Files to write as well.

    Raises:
        UsageError: There is no such format, or a file cannot be written.
    """

    def __init__(self, format_name: str, files: Sequence[Path] | None) -> None:
        try:
            self._format = load_format(format_name)
        except KeyError:
            names = ", ".join(format_names())
            raise UsageError(
                f"there is no format {format_name!r}", hint=f"The formats are {names}."
            ) from None
        self._files = [(path, format_for_suffix(path.suffix) or self._format) for path in files or ()]
        for path, _ in self._files:
            _check_writable(path)

    def deliver(self, report: Report, policy: Policy) -> int:
        """Write the report everywhere and return the exit code.

        Raises:
            UsageError: A file cannot be written.
        """
        for path, fmt in self._files:
            _write(path, fmt.render(report, width=_PIPE_WIDTH, colour=False))
        write_out(_for_terminal(self._format, report))
        return exit_code(report, policy)


def write_out(text: str) -> None:
    """Write to standard output; a reader that has gone away (``| head``) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end and must not find the broken pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal_width() -> int:
    """Columns of the terminal (COLUMNS wins), 80 where there is none."""
    import shutil

    return shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns


def wants_colour() -> bool:
    """Whether standard output shows colours: a terminal does, unless NO_COLOR or TERM=dumb say no."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def _for_terminal(fmt: Format, report: Report) -> str:
    if not fmt.is_for_terminals:
        return fmt.render(report, width=_PIPE_WIDTH, colour=False)
    return fmt.render(report, width=terminal_width(), colour=wants_colour())


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, not a file to write the report to")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path}: may not be written")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
