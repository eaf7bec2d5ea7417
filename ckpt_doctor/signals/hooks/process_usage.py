"""What the kernel counts for the training process: page faults and CPU time of each step."""

from __future__ import annotations

import math
import os
import sys
from time import perf_counter
from types import ModuleType

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("minor_faults", "count", "compute", "pages mapped without reading: memory handed out afresh"),
    Signal("major_faults", "count", "data", "pages read from disk on access: memory-mapped data"),
    Signal("user_s", "s", "compute", "CPU time of the process in user mode, all threads"),
    Signal("system_s", "s", "compute", "CPU time of the process in the kernel, all threads"),
)
NEEDS = ("torch",)

READ_EVERY_S = 0.02
"""Shorter steps share a reading, which counts for the last of them: asking takes the kernel up to 20 µs,
and its CPU times are no finer than its ticks of some milliseconds. The last step before the process is
held has a reading, and so has the first one after that."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Read getrusage(2) at the end of the first step, and of those that end well after the last reading."""
    if sys.platform == "win32":
        raise OSError("this system has no getrusage")
    import resource

    last = resource.getrusage(resource.RUSAGE_SELF)
    due_s = -math.inf

    def read(held: bool) -> dict[str, float]:
        nonlocal last, due_s
        now_s = perf_counter()
        if now_s < due_s and not held:
            return {}
        due_s = -math.inf if held else now_s + READ_EVERY_S
        now, before = resource.getrusage(resource.RUSAGE_SELF), last
        last = now
        return {
            "minor_faults": now.ru_minflt - before.ru_minflt,
            "major_faults": now.ru_majflt - before.ru_majflt,
            "user_s": round(now.ru_utime - before.ru_utime, 6),
            "system_s": round(now.ru_stime - before.ru_stime, 6),
        }

    def restart() -> None:
        nonlocal last, due_s
        last = resource.getrusage(resource.RUSAGE_SELF)
        due_s = -math.inf

    os.register_at_fork(after_in_child=restart)
    recorder.at_step_end(read)
