"""Step time and optimizer time, from torch's global optimizer hooks."""

from __future__ import annotations

import sys
from time import perf_counter_ns
from types import FrameType, ModuleType
from typing import Any
from weakref import ref

from ckpt_doctor.facts.moments import END, OPTIMIZER
from ckpt_doctor.signals.caller import user_line
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("step_s", "s", "compute", "time from one step's end to the next one's, everything included"),
    Signal("optimizer", "s", "compute", "time in Optimizer.step, without what a closure runs"),
    Signal("optimizer_steps", "count", "work", "optimizer updates, skipped ones included"),
    Signal("loop", "event", "work", "the first update of a process: the user's line that asked for it"),
)
NEEDS = ("torch.optim.optimizer",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Register hooks before and after every optimizer's step (torch 2.0 and later)."""
    depth = 0
    """Optimizers that wrap another one step inside its step: only the outermost ends a step."""
    met: dict[int, ref[Any]] = {}
    mark_step, mark_end = recorder.clock.marker(OPTIMIZER), recorder.clock.marker(END)
    update_done = recorder.update_done

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal depth
        while depth and depth > _running_steps(module) - 1:
            # A step that raised has had no hook after it.
            depth -= 1
            mark_end(perf_counter_ns())
        depth += 1
        known = met.get(id(optimizer))
        if known is None or known() is not optimizer:
            if not met:
                recorder.event("loop", **user_line())
            met[id(optimizer)] = ref(optimizer)
            for act in recorder.at_optimizer:
                act(optimizer)
        mark_step(perf_counter_ns())

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal depth
        depth = depth - 1 if depth else 0
        if depth:
            mark_end(perf_counter_ns())
        else:
            update_done(optimizer)

    for hook in (before, after):
        hook._torchdynamo_disable = True  # type: ignore[attr-defined]  # a compiled step calls it as it is
    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def _running_steps(module: ModuleType) -> int:
    """How many optimizer steps the caller runs in: torch calls the hooks from a ``wrapper`` of its own."""
    steps = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        steps += code.co_name == "wrapper" and code.co_filename == module.__file__
        frame = frame.f_back
    return steps
