"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
import sys
from threading import get_ident
from time import perf_counter_ns
from types import ModuleType

from ckpt_doctor.facts.moments import END, GC
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("gc", "s", "compute", "time that the training thread spent in garbage collections"),
    Signal("gc_pauses", "count", "compute", "garbage collections in the training thread"),
    Signal("python_blocks", "count", "compute", "memory blocks that Python has in use: about one an object"),
    Signal("gc_frozen", "count", "compute", "objects that the collector leaves alone (gc.freeze)"),
)
NEEDS = ("torch",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Use the collector's own callbacks; fingerprints hold its settings.

    A list of all that it tracks would take as long as a pause, and memory of its own: the allocator's
    count stands for it.
    """
    mark_start, mark_end = recorder.clock.marker(GC), recorder.clock.marker(END)

    def collected(phase: str, info: dict[str, int]) -> None:
        if get_ident() == recorder.thread:
            (mark_start if phase == "start" else mark_end)(perf_counter_ns())

    def describe() -> dict[str, object]:
        return {
            "memory.python_blocks": sys.getallocatedblocks(),
            "memory.gc_frozen": gc.get_freeze_count(),
            "gc.enabled": gc.isenabled(),
            "gc.threshold": ",".join(map(str, gc.get_threshold())),
        }

    gc.callbacks.append(collected)
    recorder.describe_with(describe)
