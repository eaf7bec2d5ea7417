"""Hands a report over: to standard output, to files, and to the shell as an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckpt_doctor.cli.exit_codes import exit_code
from ckpt_doctor.errors import MachineError, UsageError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report
from ckpt_doctor.report import Format, format_for_file, format_names, load_format

if TYPE_CHECKING:
    from pathlib import Path

_PIPE_WIDTH = 80


class Destinations:
    """Where a report goes. Made before the work begins, so that a wrong path costs no measurement.

    Args:
        format_name: Format on standard output.
        files: Files to write as well: ``FILE`` in the format that its ending names (else in that of
            standard output), or ``FORMAT:FILE``.

    Raises:
        UsageError: There is no such format, or a file cannot be written.
        MachineError: A format needs a library that is not installed.
    """

    def __init__(self, format_name: str, files: Sequence[str] | None) -> None:
        self._format = _known(format_name)
        if self._format.is_folder:
            raise UsageError(
                f"{format_name} is a folder of files, nothing for standard output",
                hint=f"Say where it goes: -o {format_name}:FOLDER",
            )
        self._files = [self._target(file) for file in files or ()]
        for path, fmt in self._files:
            _check_writable(path, fmt)
        _check_different([path for path, _ in self._files])

    def deliver(self, report: Report, policy: Policy) -> int:
        """Write the report everywhere and return the exit code.

        Raises:
            UsageError: A file cannot be written.
        """
        for path, fmt in self._files:
            _write(path, fmt, report)
        write_out(_for_terminal(self._format, report))
        return exit_code(report, policy)

    def _target(self, file: str) -> tuple[Path, Format]:
        from pathlib import Path

        name, colon, rest = file.partition(":")
        if not colon or name not in format_names():
            return Path(file), _usable(format_for_file(file) or self._format)
        if not rest:
            raise UsageError(f"{file}: names no file", hint=f"As in -o {name}:FILE")
        return Path(rest), _known(name)


def write_out(text: str) -> None:
    """Write to standard output; a reader that has gone away (``| head``) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end and must not find the broken pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal_width() -> int:
    """Columns of the terminal (COLUMNS wins), 80 where there is none.

    As ``shutil.get_terminal_size`` does it, which would import every compressor that Python has.
    """
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    try:
        columns = columns if columns > 0 else os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or _PIPE_WIDTH


def wants_colour() -> bool:
    """Whether standard output shows colours: a terminal does, unless NO_COLOR or TERM=dumb say no."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def _known(name: str) -> Format:
    try:
        return _usable(load_format(name))
    except KeyError:
        names = ", ".join(format_names())
        raise UsageError(f"there is no format {name!r}", hint=f"The formats are {names}.") from None


def _usable(fmt: Format) -> Format:
    if fmt.needs:
        from importlib.util import find_spec

        missing = [library for library in fmt.needs if find_spec(library) is None]
        if missing:
            raise MachineError(
                f"the format {fmt.name} needs {missing[0]}", hint=f'pip install "ckpt-doctor[{fmt.name}]"'
            )
    return fmt


def _for_terminal(fmt: Format, report: Report) -> str:
    if not fmt.is_for_terminals:
        return fmt.render(report, width=_PIPE_WIDTH, colour=False)
    return fmt.render(report, width=terminal_width(), colour=wants_colour())


def _check_writable(path: Path, fmt: Format) -> None:
    if path.is_dir() and not fmt.is_folder:
        raise UsageError(f"{path}: is a folder, not a file to write the report to")
    if path.is_file() and fmt.is_folder:
        raise UsageError(f"{path}: is a file, but {fmt.name} is a folder of files")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path}: may not be written")


def _check_different(paths: Sequence[Path]) -> None:
    twice = [path for number, path in enumerate(paths) if path in paths[:number]]
    if twice:
        raise UsageError(f"{twice[0]}: two reports would go there")


def _write(path: Path, fmt: Format, report: Report) -> None:
    try:
        if fmt.is_folder:
            fmt.write(report, path)
        else:
            path.write_text(fmt.render(report, width=_PIPE_WIDTH, colour=False), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
