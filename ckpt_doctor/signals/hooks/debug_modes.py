"""Modes that slow every operation down and may be gone again when a step ends: asked for at each backward."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("anomaly_backwards", "count", "compute", "backward passes under anomaly detection"),
    Signal("profiled_backwards", "count", "compute", "backward passes under torch's profiler"),
    Signal("retained_backwards", "count", "compute", "backward passes that keep their graph"),
)
NEEDS = ("torch.autograd",)

ANOMALY, PROFILED, RETAINED = (signal.name for signal in SIGNALS)
RETAIN_GRAPH = {"backward": 2, "grad": 3}
"""Place of the argument ``retain_graph``; ``create_graph``, which is its default, follows it."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Ask before each backward pass."""
    anomaly, profiled = module.torch.is_anomaly_enabled, module._profiler_enabled

    def ask(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if anomaly():
            recorder.count(ANOMALY)
        if profiled():
            recorder.count(PROFILED)
        if _retains(args[RETAIN_GRAPH[name] :], kwargs):
            recorder.count(RETAINED)

    recorder.at_backward.append(ask)
    recorder.count_from_zero(ANOMALY, PROFILED, RETAINED)


def _retains(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a pass keeps its graph; ``args`` begin with ``retain_graph``."""
    retain = args[0] if args else kwargs.get("retain_graph")
    create = args[1] if len(args) > 1 else kwargs.get("create_graph")
    return bool(create if retain is None else retain)
