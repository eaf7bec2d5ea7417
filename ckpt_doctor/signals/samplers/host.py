"""Counters of the whole machine: CPU time, steal, pressure, pages read again."""

from __future__ import annotations

import psutil

from ckpt_doctor.facts.run import HostSample
from ckpt_doctor.signals.contract import Signal

SIGNALS = (
    Signal("busy_s", "s", "host", "CPU time of all processes on the machine"),
    Signal("steal_s", "s", "host", "CPU time that the hypervisor gave to others"),
    Signal("pressure_cpu_s", "s", "host", "time during which some task waited for a CPU"),
    Signal("pressure_io_s", "s", "host", "time during which some task waited for a disk"),
    Signal("pressure_memory_s", "s", "host", "time during which some task waited for memory"),
    Signal("refaults", "count", "data", "file pages read again after they had been evicted"),
    Signal("swap_ins", "count", "compute", "pages that came back from swap"),
)


def sample(now_s: float) -> HostSample:
    """Counters of the machine now."""
    cpu = psutil.cpu_times()
    idle = cpu.idle + getattr(cpu, "iowait", 0.0)
    steal: float | None = getattr(cpu, "steal", None)
    refaults, swap_ins = _vmstat("workingset_refault_file", "pswpin")
    return HostSample(
        t_s=now_s,
        busy_s=sum(cpu[:8]) - idle - (steal or 0.0),
        steal_s=steal,
        pressure_cpu_s=_pressure_s("cpu"),
        pressure_io_s=_pressure_s("io"),
        pressure_memory_s=_pressure_s("memory"),
        refaults=refaults,
        swap_ins=swap_ins,
    )


def _pressure_s(resource: str) -> float | None:
    """Total of the ``some`` line of /proc/pressure (Linux, Documentation/accounting/psi.rst)."""
    try:
        with open(f"/proc/pressure/{resource}", encoding="ascii") as file:
            return int(file.readline().rpartition("total=")[2]) / 1e6
    except (OSError, ValueError):
        return None


def _vmstat(*names: str) -> list[int | None]:
    """Numbers of /proc/vmstat by name; None where the kernel has none of it."""
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            rows = dict(line.split() for line in file)
    except (OSError, ValueError):
        return [None] * len(names)
    return [int(rows[name]) if name in rows else None for name in names]
