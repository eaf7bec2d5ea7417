"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
from types import ModuleType

from ckpt_doctor.signals.clock import GC
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("gc", "s", "compute", "time that the training thread spent in garbage collections"),
    Signal("gc_pauses", "count", "compute", "garbage collections in the training thread"),
    Signal("gc_objects", "count", "compute", "objects that the collector has to look at"),
)
NEEDS = ("torch",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Use the collector's own callbacks, and count what it tracks for every fingerprint."""

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
            "memory.gc_objects": len(gc.get_objects()),
            "gc.enabled": gc.isenabled(),
            "gc.threshold": ",".join(map(str, gc.get_threshold())),
        }

    gc.callbacks.append(collected)
    recorder.describe_with(describe)
