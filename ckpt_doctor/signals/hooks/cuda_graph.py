"""CUDA Graph captures and replays."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import COMPILE
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("graph_capture", "event", "compute", "a CUDA graph was captured, and how long it took"),
    Signal("graph_replays", "count", "compute", "CUDA graphs launched"),
)
NEEDS = ("torch.cuda.graphs",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the three methods of ``torch.cuda.CUDAGraph``; nothing waits for the device."""
    began: dict[int, float] = {}

    def make_begin(original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            began[id(graph)] = perf_counter()
            recorder.push(COMPILE)
            return original(graph, *args, **kwargs)

        return capture_begin

    def make_end(original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(graph, *args, **kwargs)
            finally:
                recorder.pop()
                start = began.pop(id(graph), None)
                duration_s = None if start is None else perf_counter() - start
                recorder.event("graph_capture", duration_s, trigger="capture")
                recorder.count("graph_captures")

        return capture_end

    def make_replay(original: Callable[..., Any]) -> Callable[..., Any]:
        def replay(graph: Any) -> Any:
            recorder.count("graph_replays")
            return original(graph)

        return replay

    recorder.wrap(module.CUDAGraph, "capture_begin", make_begin)
    recorder.wrap(module.CUDAGraph, "capture_end", make_end)
    recorder.wrap(module.CUDAGraph, "replay", make_replay)
