"""Samples the stacks of a run's training processes with py-spy."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

RATE_PER_S = 100
_END_TIMEOUT_S = 20.0
_CATCH_UP_TIMEOUT_S = 2.0
_LOOK_EVERY_S = 0.001
_QUIET_LOOKS = 3
"""Looks in a row without a running thread, after which the samplers wait for their next samples."""
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class StackSampler:
    """One py-spy for each training process; it writes speedscope files when it ends.

    It never stops the process that it looks at (``--nonblocking``): on a machine with many cores
    the other way can slow a training process down many times over.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spies: list[subprocess.Popen[bytes]] = []
        self.why_not: str | None = None
        """Why there are no stacks, where there are none."""

    def start(self, processes: Sequence[tuple[int, int]]) -> None:
        """Attach to the processes given as (rank, pid)."""
        program = _program()
        if program is None:
            self.why_not = "py-spy is not installed"
            return
        for rank, pid in processes:
            self._spies.append(_spy(program, pid, self._folder / f"stacks-rank{rank:05d}.speedscope.json"))

    @property
    def running(self) -> bool:
        """Whether any sampler is at work."""
        return any(spy.poll() is None for spy in self._spies)

    def pause(self) -> None:
        """Take no samples until ``proceed``."""
        self._signal(signal.SIGSTOP)

    def proceed(self) -> None:
        """Go on taking samples, when all are taken that were missed since ``pause``.

        py-spy makes up for them as fast as it can, hundreds in a few hundredths of a second. So this is to be
        called while the process is held: these samples are of the hold then, and cost the run nothing.
        """
        self._signal(signal.SIGCONT)
        deadline_s = time.monotonic() + _CATCH_UP_TIMEOUT_S
        quiet = 0
        while quiet < _QUIET_LOOKS and time.monotonic() < deadline_s:
            quiet = 0 if any(_is_at_work(spy.pid) for spy in self._spies) else quiet + 1
            time.sleep(_LOOK_EVERY_S)

    def close(self) -> None:
        """End the samplers, which makes them write their files."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGINT)
        for spy in self._spies:
            try:
                _, errors = spy.communicate(timeout=_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                spy.kill()
                _, errors = spy.communicate()
            if spy.returncode:
                self.why_not = _reason(errors)
        self._spies.clear()

    def _signal(self, number: int) -> None:
        for spy in self._spies:
            if spy.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    spy.send_signal(number)


def _is_at_work(pid: int) -> bool:
    """Whether a thread of a process runs or wants to; False where there is no /proc.

    Source: proc_pid_stat(5), state, behind the name in parentheses.
    """
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            if stat.read_text().rpartition(")")[2].split()[0] == "R":
                return True
    return False


def _program() -> str | None:
    """py-spy's program: beside this Python first, since that is where it was installed with us."""
    return shutil.which("py-spy", path=sysconfig.get_path("scripts")) or shutil.which("py-spy")


def _spy(program: str, pid: int, output: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            program, "record", "--pid", str(pid), "--nonblocking", "--idle", "--rate", str(RATE_PER_S),
            "--format", "speedscope", "--full-filenames", "--output", str(output),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )  # fmt: skip


def _end_with_parent() -> None:
    """Have the kernel kill this process when the doctor dies: a stopped one could not notice it."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _reason(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[0] if lines else "py-spy ended without a word"
