"""What goes wrong, told on standard error: one line, the script's last lines, what to do."""

from __future__ import annotations

import sys

from ckpt_doctor.errors import CkptDoctorError
from ckpt_doctor.report.terminal.harmless import harmless

PROGRAM = "ckpt-doctor"


def tell(error: CkptDoctorError) -> None:
    """Tell an error: what is wrong, the last lines of the script's output, and the remedy."""
    tell_line(error.what)
    for line in error.tail:
        sys.stderr.write(f"  | {harmless(line)}\n")
    if error.hint is not None:
        sys.stderr.write(f"  {harmless(error.hint)}\n")


def tell_line(message: str) -> None:
    """Tell something in one line."""
    sys.stderr.write(f"{PROGRAM}: {harmless(message)}\n")
