"""Runs one command, and ends the whole of it when the doctor goes away.

Started as a script of its own with ``python -I -S warden.py DOCTOR_PID STATUS_FILE COMMAND...``.
As a child subreaper (prctl(2)) it inherits the processes whose parents have died, so that none
escapes: not those with a session of their own, and not those that are stopped. When its own parent
dies, of whatever, it kills them all. Standard library only: it is not measured, and must be small.

It sleeps all the while: Linux shares a busy machine out among sessions (sched(7), autogroup), and one whose
processes wake here and there gets more of a core than its due. With looks 50 times a second, a run that was
kept to one core had three quarters of it beside a busy process, for half.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_S = None if sys.platform == "linux" else 0.5
"""Where no signal tells that the doctor has died, it is looked for."""


class _AskedToEnd(BaseException):
    """The doctor has died, or wants the run to end."""


def main(doctor: int, status_file: str, command: list[str]) -> int:
    """Run the command to its end, write how it ended, and leave no process behind."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, _end)
    child = None
    with contextlib.suppress(_AskedToEnd):
        try:
            child = subprocess.Popen(command)
        except OSError as error:
            _write(status_file, {"exit_code": None, "error": f"{command[0]}: {error.strerror}"})
            return 2
        while child.returncode is None and os.getppid() == doctor:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK_EVERY_S)
    _write(status_file, {"exit_code": None if child is None else child.poll(), "error": None})
    kill_descendants()
    return 0


def _end(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _AskedToEnd


def kill_descendants() -> None:
    """Kill every process below this one, until there is none."""
    while True:
        found = descendants(os.getpid())
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not found:
            return
        time.sleep(0.005)


def descendants(root: int) -> list[int]:
    """Process ids below ``root``, ended ones that nobody has waited for left out."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _write(path: str, status: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        with open(f"{path}.part", "w", encoding="utf-8") as file:
            json.dump(status, file)
        os.replace(f"{path}.part", path)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
