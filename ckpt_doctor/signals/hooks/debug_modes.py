"""Modes that slow every operation down and may be gone again when a step ends: asked for before backward."""

from __future__ import annotations

from collections.abc import Callable
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
USUAL = (None, False)
"""What ``Tensor.backward`` passes on unless it is told otherwise."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Ask before each backward pass; for a mode, once it has been switched on for the first time."""
    anomaly, profiled = module.torch.is_anomaly_enabled, module._profiler_enabled

    def ask(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        asked = args[RETAIN_GRAPH[name] :]
        if asked != USUAL and _retains(asked, kwargs):
            recorder.count(RETAINED)

    def ask_for_modes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if anomaly():
            recorder.count(ANOMALY)
        if profiled():
            recorder.count(PROFILED)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def switch(*args: Any, **kwargs: Any) -> Any:
            if ask_for_modes not in recorder.at_backward:
                recorder.at_backward.append(ask_for_modes)
            return original(*args, **kwargs)

        return switch

    recorder.at_backward.append(ask)
    recorder.wrap(module.torch, "set_anomaly_enabled", make)
    recorder.wrap(module.profiler, "_enable_profiler", make)
    recorder.count_from_zero(ANOMALY, PROFILED, RETAINED)


def _retains(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a pass keeps its graph; ``args`` begin with ``retain_graph``."""
    retain = args[0] if args else kwargs.get("retain_graph")
    create = args[1] if len(args) > 1 else kwargs.get("create_graph")
    return bool(create if retain is None else retain)
