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
)
NEEDS = ("torch.autograd",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap ``torch.autograd.backward`` (which ``Tensor.backward`` calls) and ``grad``."""
    at_backward = recorder.at_backward
    mark_backward, mark_over = recorder.clock.marker(BACKWARD), recorder.clock.marker(OVER)
    opened = recorder.clock.opened

    def make(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if (opened and _is_no_pass(opened)) or get_ident() != recorder.thread:
                return original(*args, **kwargs)
            for act in at_backward:
                act(name, args, kwargs)
            opened.append(BACKWARD)
            mark_backward(perf_counter_ns())
            try:
                return original(*args, **kwargs)
            finally:
                mark_over(perf_counter_ns())
                if opened:
                    opened.pop()

        return timed

    for name in ("backward", "grad"):
        recorder.wrap(module, name, partial(make, name))


def _is_no_pass(opened: list[int]) -> bool:
    """Whether a call inside these parts is no pass of its own.

    Autograd may call itself (checkpointing, double backward): the outermost call is the pass. What a compiler
    traces is none at all.
    """
    return BACKWARD in opened or COMPILE in opened
