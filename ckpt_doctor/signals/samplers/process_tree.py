"""Counters of a whole process tree: CPU, memory, faults, bytes read, time spent waiting for a CPU."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from ckpt_doctor.facts.run import ProcessSample
from ckpt_doctor.signals.contract import Signal

SIGNALS = (
    Signal("tree_cpu_s", "s", "compute", "CPU time of all processes of the run"),
    Signal("tree_minor_faults", "count", "compute", "minor page faults of all processes of the run"),
    Signal("tree_major_faults", "count", "data", "major page faults of all processes of the run"),
    Signal("physical_read_bytes", "bytes", "data", "bytes that came from the disk"),
    Signal("logical_read_bytes", "bytes", "data", "bytes that read calls returned, cached or not"),
    Signal("run_queue_s", "s", "host", "time that threads were runnable but had no CPU"),
)


@dataclass(frozen=True)
class _Counters:
    """One process's cumulative counters, with those of children that it has waited for."""

    cpu_s: float
    minor_faults: int | None
    major_faults: int | None
    physical_read_bytes: int | None
    logical_read_bytes: int | None


class TreeSampler:
    """Adds up a process tree's counters, keeping what processes that have ended had counted.

    The kernel adds CPU time, faults and bytes of a process that its parent has waited for to the
    parent's own (getrusage(2), proc(5)), so these need no memory here. Waiting for a CPU is not
    handed on: there the last value of a process stands.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._alive: dict[int, _Counters] = {}
        self._run_queue_s: dict[tuple[int, float], float] = {}

    def sample(self, now_s: float) -> ProcessSample | None:
        """Counters of the tree now, or None when its root has ended."""
        try:
            root = psutil.Process(self._root)
            processes = root.children(recursive=True)
        except psutil.Error:
            return None
        found = {self._root: _inherited(self._root)}
        threads = rss_bytes = 0
        cpus: int | None = None
        for process in processes:
            try:
                with process.oneshot():
                    found[process.pid] = self._counters(process)
                    threads += process.num_threads()
                    rss_bytes += process.memory_info().rss
                    allowed = _cpus_allowed(process)
            except (psutil.Error, OSError):
                continue
            # The narrowest process decides: a run waits for its slowest part.
            cpus = allowed if cpus is None else min(cpus, allowed or cpus)
        self._alive = found
        known = [counters for counters in found.values() if counters is not None]
        return ProcessSample(
            t_s=now_s,
            processes=len(found) - 1,
            threads=threads,
            rss_bytes=rss_bytes,
            cpu_s=sum(c.cpu_s for c in known),
            minor_faults=_total(c.minor_faults for c in known),
            major_faults=_total(c.major_faults for c in known),
            physical_read_bytes=_total(c.physical_read_bytes for c in known),
            logical_read_bytes=_total(c.logical_read_bytes for c in known),
            run_queue_s=sum(self._run_queue_s.values()) if self._run_queue_s else None,
            cpus_allowed=cpus,
        )

    def _counters(self, process: psutil.Process) -> _Counters:
        waited_s = _run_queue_s(process.pid)
        if waited_s is not None:
            self._run_queue_s[(process.pid, process.create_time())] = waited_s
        if process.status() == psutil.STATUS_ZOMBIE and process.pid in self._alive:
            return self._alive[process.pid]  # its bytes can no longer be read, but still are its own
        return _counters(process)


def _counters(process: psutil.Process) -> _Counters:
    cpu = process.cpu_times()
    minor, major = _faults(process.pid)
    physical, logical = _read_bytes(process)
    cpu_s = cpu.user + cpu.system + cpu.children_user + cpu.children_system
    return _Counters(cpu_s, minor, major, physical, logical)


def _inherited(pid: int) -> _Counters:
    """What the watching process itself was handed by the children that it has waited for."""
    cpu = psutil.Process(pid).cpu_times()
    minor, major = _faults(pid, own=False)
    return _Counters(cpu.children_user + cpu.children_system, minor, major, 0, 0)


def _faults(pid: int, *, own: bool = True) -> tuple[int | None, int | None]:
    """Minor and major faults, with those of children that were waited for.

    Fields 10 to 13 of /proc/PID/stat (proc(5)).
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        minor, children_minor, major, children_major = (int(field) for field in fields[7:11])
    except (OSError, ValueError):
        return None, None
    return children_minor + own * minor, children_major + own * major


def _read_bytes(process: psutil.Process) -> tuple[int | None, int | None]:
    """Bytes from the disk, and bytes returned by read calls (/proc/PID/io; Linux only)."""
    try:
        counters = process.io_counters()
    except (psutil.Error, OSError, AttributeError):
        return None, None
    return counters.read_bytes, getattr(counters, "read_chars", None)


def _run_queue_s(pid: int) -> float | None:
    """Seconds that the threads waited for a CPU: second field of /proc/PID/task/TID/schedstat."""
    total_ns = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                total_ns += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return total_ns / 1e9


def _cpus_allowed(process: psutil.Process) -> int | None:
    try:
        return len(process.cpu_affinity() or ()) or None
    except (psutil.Error, AttributeError):
        return None


def _total(values: Iterable[int | None]) -> int | None:
    """The sum, or None where any value is unknown: a part is no total."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
