"""Compilations by dynamo: how long they took, why again, and whether a cache helped."""

from __future__ import annotations

import sys
from time import perf_counter
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import COMPILE
from ckpt_doctor.signals.caller import is_library
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("compile", "event", "compute", "a compilation: trigger, recompile reason, cache hits and misses"),
    Signal("compiles", "count", "compute", "compilations"),
)
NEEDS = ("torch._dynamo.callback",)

HITS = (
    "inductor_fx_local_cache_hit_count",
    "inductor_fx_remote_cache_hit_count",
    "aotautograd_local_cache_hit_count",
)
MISSES = (
    "inductor_fx_local_cache_miss_count",
    "inductor_fx_remote_cache_miss_count",
    "aotautograd_local_cache_miss_count",
)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Use dynamo's own callbacks; its metrics, which come a little later, are read at the step's end."""
    began_s = 0.0
    pushed = False
    untold: list[tuple[float, dict[str, object]]] = []
    """Compilations that ended in this step, in order."""

    def started(args: Any) -> None:
        nonlocal began_s, pushed
        began_s = perf_counter()
        pushed = recorder.in_training_thread()
        if pushed:
            recorder.push(COMPILE)

    def ended(args: Any) -> None:
        nonlocal pushed
        if pushed:
            recorder.pop()
        pushed = False
        recorder.count("compiles")
        trigger = str(getattr(args.callback_trigger, "name", args.callback_trigger)).lower()
        if not untold:
            recorder.at_step_end(tell)
        untold.append((perf_counter() - began_s, {"trigger": trigger, "id": args.compile_id}))

    def tell(held: bool) -> None:
        metrics = _metrics()
        for duration_s, compilation in untold:
            backward = compilation["trigger"] == "lazy_backward"
            details = _details(metrics, str(compilation["id"]), backward=backward)
            recorder.event("compile", duration_s, **compilation, **details)
        untold.clear()

    module.callback_handler.register_start_callback(started)
    module.callback_handler.register_end_callback(ended)
    recorder.describe_with(_compiled)


def _metrics() -> list[Any]:
    dynamo = sys.modules.get("torch._dynamo.utils")
    return list(dynamo.get_compilation_metrics()) if dynamo is not None else []


def _details(metrics: list[Any], compile_id: str, *, backward: bool) -> dict[str, object]:
    """What dynamo's CompilationMetrics say of one compilation; fields differ between versions."""
    for metric in reversed(metrics):
        if metric.compile_id == compile_id and (getattr(metric, "is_forward", None) is not True) == backward:
            return {
                "reason": getattr(metric, "recompile_reason", None),
                "frame": getattr(metric, "co_name", None),
                **_place(metric),
                "cache_hits": _sum(metric, HITS),
                "cache_misses": _sum(metric, MISSES),
                "failed": getattr(metric, "fail_type", None),
                "cudagraph_skip_reason": getattr(metric, "cudagraph_skip_reason", None),
            }
    return {}


def _place(metric: Any) -> dict[str, object]:
    """``file`` and ``line`` at which the compiled function begins, where it is the user's."""
    file, line = getattr(metric, "co_filename", None), getattr(metric, "co_firstlineno", None)
    return {"file": file, "line": line} if file and not is_library(file) else {}


def _sum(metric: Any, names: tuple[str, ...]) -> int | None:
    values = [getattr(metric, name, None) for name in names]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _compiled() -> dict[str, object]:
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:
        return {}
    counters = dynamo.counters
    return {
        "compiled.frames": counters["frames"]["ok"],
        "compiled.graph_breaks": sum(counters["graph_break"].values()),
        "compiled.cudagraph_skips": counters["inductor"]["cudagraph_skips"],
    }
