"""Processes of an earlier run that nobody waits for any more, and the CPU time that they take."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence

import psutil

from ckpt_doctor.facts.command import script_end
from ckpt_doctor.facts.run import LeftOver
from ckpt_doctor.signals.contract import Signal

SIGNALS = (
    Signal("left_over", "event", "host", "a process of an earlier run is alive, though its parent has died"),
    Signal("left_over_cpu_s", "s", "host", "CPU time of these processes since they were first seen"),
)

COMMAND_SHOWN = 160
"""So many characters of a command line are kept."""
_REAPERS = ("systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "runit", "s6-svscan")
"""What becomes the parent of processes whose own has died."""
_FIRST = 1
_GPU_FILE = re.compile(r"/dev/(nvidia\d+|kfd)$")
_SPAWNED = "--multiprocessing-fork"
"""Word in the command line of a process that multiprocessing started afresh."""


class LeftOverFinder:
    """Looks for processes whose parent has died, and that run what this run runs.

    Such are loader workers and helpers of a run that was killed. A process counts when it runs the same
    script, was spawned by Python in the same folder, or is a Python process that holds a GPU.

    Args:
        root: The process below which all of the run's are.
        command: What the run was started with.
        cwd: The folder that it was started in.
    """

    def __init__(self, root: int, command: Sequence[str], cwd: str) -> None:
        self._root = root
        self._cwd = cwd
        self._script = _script(command, cwd)
        self._known: dict[int, tuple[psutil.Process, float]] = {}
        self._ended_s = 0.0
        self._last_s: dict[int, float] = {}
        self._started: int | None = None

    def look(self) -> tuple[LeftOver, ...]:
        """Look through all processes; returns those that were not known yet."""
        fresh = []
        for process in self._orphans():
            with contextlib.suppress(psutil.Error, OSError):
                if process.pid not in self._known and self._belongs(process):
                    self._known[process.pid] = (process, _cpu_s(process))
                    fresh.append(_described(process))
        return tuple(fresh)

    def cpu_s(self) -> float:
        """CPU seconds that all of them together have used since each was first seen."""
        for pid, (process, first_s) in list(self._known.items()):
            try:
                self._last_s[pid] = _cpu_s(process) - first_s
            except psutil.Error:
                self._ended_s += self._last_s.pop(pid, 0.0)
                del self._known[pid]
        return self._ended_s + sum(self._last_s.values())

    def _orphans(self) -> Iterator[psutil.Process]:
        if self._started is None:
            self._started = self._started_by_root()
        reapers: dict[int, bool] = {}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                parent = process.ppid()
                if parent not in reapers:
                    reapers[parent] = _is_reaper(parent)
                adopted = parent == self._root and self._started not in (None, process.pid)
                if process.pid not in (_FIRST, self._root) and (adopted or reapers[parent]):
                    yield process

    def _started_by_root(self) -> int | None:
        """The process that the root started itself: the oldest of its children; None before it is there."""
        try:
            children = psutil.Process(self._root).children()
            return min(children, key=lambda child: child.create_time()).pid if children else None
        except psutil.Error:
            return None

    def _belongs(self, process: psutil.Process) -> bool:
        words = process.cmdline()
        folder = process.cwd()
        if not words or process.status() == psutil.STATUS_ZOMBIE:
            return False
        if self._script is not None and _script(words, folder) == self._script:
            return True
        is_python = os.path.basename(words[0]).startswith("python")
        return is_python and ((_SPAWNED in words and folder == self._cwd) or _holds_gpu(process))


def _script(command: Sequence[str], cwd: str) -> str | None:
    """The script of a command as one name: the real path of a file, or a module's name."""
    end = script_end(command)
    if end is None:
        return None
    name = command[end - 1]
    return os.path.realpath(os.path.join(cwd, name)) if name.endswith(".py") else name


def _is_reaper(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return pid == _FIRST or psutil.Process(pid).name() in _REAPERS
    return False


def _cpu_s(process: psutil.Process) -> float:
    cpu = process.cpu_times()
    return cpu.user + cpu.system


def _described(process: psutil.Process) -> LeftOver:
    return LeftOver(
        pid=process.pid,
        command=" ".join(process.cmdline())[:COMMAND_SHOWN],
        started_unix_s=process.create_time(),
        rss_bytes=process.memory_info().rss,
        holds_gpu=_holds_gpu(process),
    )


def _holds_gpu(process: psutil.Process) -> bool:
    """Whether one of its open files is a GPU (Linux)."""
    with contextlib.suppress(OSError):
        folder = f"/proc/{process.pid}/fd"
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                if _GPU_FILE.match(os.readlink(f"{folder}/{name}")):
                    return True
    return False
