"""Progress is for terminals only."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from ckpt_doctor.cli import progress

SHOW = """
import time
from ckpt_doctor.cli import progress
with progress.shown() as show:
    show("measuring [red]turn\\x1b[2J", 0.5)
    time.sleep(0.3)
"""


def test_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, nothing is printed."""
    with progress.shown() as show:
        show("measuring", 0.5)
        show("judging", None)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_shown_on_a_terminal_and_on_standard_error_only() -> None:
    """On a terminal the message is shown as it is, on standard error; standard output stays clean."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SHOW],
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 4096):
            shown += chunk
    except OSError:
        pass  # Linux ends a terminal with an error, not with an empty read.
    out, _ = process.communicate()
    os.close(leader)
    assert process.returncode == 0
    assert out == b""
    assert b"measuring [red]turn\\x1b[2J" in shown
