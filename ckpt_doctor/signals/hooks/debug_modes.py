"""Modes that slow every operation down and may be gone again when a step ends: asked for before backward."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("anomaly_backwards", "count", "compute", "backward passes under anomaly detection"),
    Signal("profiled_backwards", "count", "compute", "backward passes under torch's profiler"),
)
NEEDS = ("torch.autograd",)

ANOMALY, PROFILED = (signal.name for signal in SIGNALS)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Ask before each backward pass, once a mode has been switched on for the first time."""
    anomaly, profiled = module.torch.is_anomaly_enabled, module._profiler_enabled

    def ask() -> None:
        if anomaly():
            recorder.count(ANOMALY)
        if profiled():
            recorder.count(PROFILED)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def switch(*args: Any, **kwargs: Any) -> Any:
            if ask not in recorder.at_backward:
                recorder.at_backward.append(ask)
            return original(*args, **kwargs)

        return switch

    recorder.wrap(module.torch, "set_anomaly_enabled", make)
    recorder.wrap(module.profiler, "_enable_profiler", make)
    recorder.count_from_zero(ANOMALY, PROFILED)
