"""What the machine is: processor, memory, kernel, clocks, driver."""

from __future__ import annotations

import platform
from pathlib import Path
from types import ModuleType

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (Signal("machine", "event", "host", "processor, memory, kernel, clock limits, driver"),)
NEEDS = ("torch",)

FILES = {
    "machine.governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "machine.cpu_max_khz": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "machine.no_turbo": "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "machine.gpu_driver": "/proc/driver/nvidia/version",
}
"""One line each, where the machine has it."""
GIB = 2**30


def install(recorder: Recorder, module: ModuleType) -> None:
    """Read /proc and /sys once: a machine does not change while a process runs on it."""
    values: dict[str, object] = {
        "machine.cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "machine.memory_gib": _memory_gib(),
        "machine.system": f"{platform.system()} {platform.release()}",
    }
    for name, path in FILES.items():
        values[name] = _first_line(path)
    recorder.describe_with(lambda: values)


def _memory_gib() -> int | None:
    """Memory in whole GiB: machines of one kind differ by what their firmware keeps."""
    total = _field("/proc/meminfo", "MemTotal")
    return None if total is None else round(int(total.split()[0]) * 1024 / GIB)


def _field(path: str, name: str) -> str | None:
    """The first value of a file of ``name : value`` lines."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = (line.partition(":") for line in file)
            return next((value.strip() for key, _, value in lines if key.strip() == name), None)
    except OSError:
        return None


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8", "replace").partition("\n")[0].strip() or None
    except OSError:
        return None
