"""Backward time, from torch.autograd's two entry points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.clock import BACKWARD, COMPILE, LONG, REST, SHIFT
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("backward", "s", "compute", "time in autograd's backward, without compilation inside it"),
    Signal("backwards", "count", "work", "backward passes: micro-batches, where gradients accumulate"),
)
NEEDS = ("torch.autograd",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap ``torch.autograd.backward`` (which ``Tensor.backward`` calls) and ``grad``."""
    inside = False
    """Autograd may call itself (checkpointing, double backward): the outermost call is the pass.

    What a compiler traces is no pass at all.
    """

    counters, at_backward = recorder.counters, recorder.at_backward
    tape, opened = recorder.clock.tape, recorder.clock.opened
    mark = tape.append

    def make(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside or COMPILE in opened or get_ident() != recorder.thread:
                return original(*args, **kwargs)
            inside = True
            counters["backwards"] = counters.get("backwards", 0) + 1
            for act in at_backward:
                act(name, args, kwargs)
            if len(tape) > LONG:
                recorder.clock.read()
            opened.append(BACKWARD)
            mark(perf_counter_ns() << SHIFT | BACKWARD)
            try:
                return original(*args, **kwargs)
            finally:
                inside = False
                recorder.pop_into(REST)

        return timed

    for name in ("backward", "grad"):
        recorder.wrap(module, name, partial(make, name))
