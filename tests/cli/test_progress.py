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
SHOW_IF_LONG = """
import sys, threading
from ckpt_doctor.cli import progress
with progress.shown_if_long("reading"):
    threading.Event().wait(float(sys.argv[1]))
print("rich" in sys.modules)
"""


def on_a_terminal(script: str, *arguments: str) -> tuple[str, str]:
    """Standard output of a script, and what it shows on standard error, which is a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
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
    return out.decode(), shown.decode()


def test_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, nothing is printed."""
    with progress.shown() as show:
        show("measuring", 0.5)
        show("judging", None)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_shown_on_a_terminal_and_on_standard_error_only() -> None:
    """On a terminal the message is shown as it is, on standard error; standard output stays clean."""
    out, shown = on_a_terminal(SHOW)
    assert out == ""
    assert "measuring [red]turn\\x1b[2J" in shown


def test_what_ends_at_once_shows_nothing() -> None:
    """Where the work is done in a moment nothing is shown, and what would show it is not loaded."""
    assert on_a_terminal(SHOW_IF_LONG, "0") == ("False\n", "")


def test_what_takes_long_is_shown() -> None:
    """Where the work goes on, the message comes by itself."""
    out, shown = on_a_terminal(SHOW_IF_LONG, "1.5")
    assert out == "True\n"
    assert "reading" in shown
