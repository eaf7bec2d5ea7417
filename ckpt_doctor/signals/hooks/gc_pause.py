"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

from ckpt_doctor.signals.clock import GC
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

    def collected(phase: str, info: dict[str, int]) -> None:
        if not recorder.in_training_thread():
            return
        if phase == "start":
            recorder.push(GC)
        else:
            recorder.pop()
            recorder.count("gc_pauses")

    def describe() -> dict[str, object]:
        return {
            "memory.python_blocks": sys.getallocatedblocks(),
            "memory.gc_frozen": gc.get_freeze_count(),
            "gc.enabled": gc.isenabled(),
            "gc.threshold": ",".join(map(str, gc.get_threshold())),
        }

    gc.callbacks.append(collected)
    recorder.describe_with(describe)
