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
    """One process's cumulative counters; the last ones are kept when it has ended."""

    cpu_s: float
    minor_faults: int | None
    major_faults: int | None
    physical_read_bytes: int | None
    logical_read_bytes: int | None
    run_queue_s: float | None


class TreeSampler:
    """Adds up a process tree's counters, keeping what processes that have ended had counted."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._last: dict[tuple[int, float], _Counters] = {}

    def sample(self, now_s: float) -> ProcessSample | None:
        """Counters of the tree now, or None when its root has ended."""
        try:
            root = psutil.Process(self._root)
            processes = root.children(recursive=True)
        except psutil.Error:
            return None
        alive = threads = rss_bytes = 0
        cpus: int | None = None
        for process in processes:
            try:
                with process.oneshot():
                    key, counters = (process.pid, process.create_time()), _counters(process)
                    if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                        continue  # what it counted last stands; now it only has a part of it
                    self._last[key] = counters
                    threads += process.num_threads()
                    rss_bytes += process.memory_info().rss
                    allowed = _cpus_allowed(process)
            except (psutil.Error, OSError):
                continue
            alive += 1
            # The narrowest process decides: a run waits for its slowest part.
            cpus = allowed if cpus is None else min(cpus, allowed or cpus)
        known = self._last.values()
        return ProcessSample(
            t_s=now_s,
            processes=alive,
            threads=threads,
            rss_bytes=rss_bytes,
            cpu_s=sum(c.cpu_s for c in known),
            minor_faults=_total(c.minor_faults for c in known),
            major_faults=_total(c.major_faults for c in known),
            physical_read_bytes=_total(c.physical_read_bytes for c in known),
            logical_read_bytes=_total(c.logical_read_bytes for c in known),
            run_queue_s=_total_s(c.run_queue_s for c in known),
            cpus_allowed=cpus,
        )


def _counters(process: psutil.Process) -> _Counters:
    cpu = process.cpu_times()
    minor, major = _faults(process.pid)
    physical, logical = _read_bytes(process)
    return _Counters(cpu.user + cpu.system, minor, major, physical, logical, _run_queue_s(process.pid))


def _faults(pid: int) -> tuple[int | None, int | None]:
    """Minor and major faults, fields 10 and 12 of /proc/PID/stat (proc(5))."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[7]), int(fields[9])
    except (OSError, IndexError, ValueError):
        return None, None


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


def _total_s(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
