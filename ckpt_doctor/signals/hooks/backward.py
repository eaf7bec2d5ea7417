"""Backward time, from torch.autograd's two entry points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import BACKWARD, COMPILE, OVER
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("backward", "s", "compute", "time in autograd's backward, without compilation inside it"),
    Signal("backwards", "count", "work", "backward passes: micro-batches, where gradients accumulate"),
    Signal("retained_backwards", "count", "compute", "backward passes that keep their graph"),
)
NEEDS = ("torch.autograd",)

RETAINED = SIGNALS[2].name
RETAIN_GRAPH = {"backward": 2, "grad": 3}
"""Place of the argument ``retain_graph``; ``create_graph``, which is its default, follows it."""
USUAL = (None, False)
"""What ``Tensor.backward`` passes on unless it is told otherwise."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap ``torch.autograd.backward`` (which ``Tensor.backward`` calls) and ``grad``."""
    at_backward = recorder.at_backward
    mark_backward, mark_over = recorder.clock.marker(BACKWARD), recorder.clock.marker(OVER)
    opened = recorder.clock.opened

    def make(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        place, usual = RETAIN_GRAPH[name], USUAL

        def timed(*args: Any, **kwargs: Any) -> Any:
            if (opened and _is_no_pass(opened)) or get_ident() != recorder.thread:
                return original(*args, **kwargs)
            # One more call takes as long in here as all the rest: on cold caches, some microseconds.
            if args[place:] != usual and _retains(args[place:], kwargs):
                recorder.count(RETAINED)
            for act in at_backward:
                act()
            opened.append(BACKWARD)
            mark_backward(perf_counter_ns())
            try:
                return original(*args, **kwargs)
            finally:
                mark_over(perf_counter_ns())
                if opened:
                    opened.pop()

        return timed

    for name in RETAIN_GRAPH:
        recorder.wrap(module, name, partial(make, name))
    recorder.count_from_zero(RETAINED)


def _is_no_pass(opened: list[int]) -> bool:
    """Whether a call inside these parts is no pass of its own.

    Autograd may call itself (checkpointing, double backward): the outermost call is the pass. What a compiler
    traces is none at all.
    """
    return BACKWARD in opened or COMPILE in opened


def _retains(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a pass keeps its graph; ``args`` begin with ``retain_graph``."""
    retain = args[0] if args else kwargs.get("retain_graph")
    create = args[1] if len(args) > 1 else kwargs.get("create_graph")
    return bool(create if retain is None else retain)
