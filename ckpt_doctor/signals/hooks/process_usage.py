"""What the kernel counts for the training process: page faults and CPU time of each step."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("minor_faults", "count", "compute", "pages mapped without reading: memory handed out afresh"),
    Signal("major_faults", "count", "data", "pages read from disk on access: memory-mapped data"),
    Signal("user_s", "s", "compute", "CPU time of the process in user mode, all threads"),
    Signal("system_s", "s", "compute", "CPU time of the process in the kernel, all threads"),
)
NEEDS = ("torch",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Read getrusage(2) at the end of some steps: it counts all since the last time."""
    if sys.platform == "win32":
        raise OSError("this system has no getrusage")
    import resource

    last = resource.getrusage(resource.RUSAGE_SELF)

    def look() -> dict[str, float]:
        nonlocal last
        now, before = resource.getrusage(resource.RUSAGE_SELF), last
        last = now
        return {
            "minor_faults": now.ru_minflt - before.ru_minflt,
            "major_faults": now.ru_majflt - before.ru_majflt,
            "user_s": round(now.ru_utime - before.ru_utime, 6),
            "system_s": round(now.ru_stime - before.ru_stime, 6),
        }

    def restart() -> None:
        nonlocal last
        last = resource.getrusage(resource.RUSAGE_SELF)

    os.register_at_fork(after_in_child=restart)
    recorder.at_look(look)
