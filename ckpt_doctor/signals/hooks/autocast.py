"""Regions of automatic mixed precision: they are over when a step ends, so each one is counted."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import BACKWARD, COMPILE
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("autocast_bfloat16", "count", "compute", "autocast regions for bfloat16 entered in forward"),
    Signal("autocast_float16", "count", "compute", "autocast regions for float16 entered in forward"),
)
NEEDS = ("torch.amp.autocast_mode",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the entry of ``torch.autocast``, which its older names lead to as well.

    Dynamo knows the class and does not trace the method. Regions without gradients belong to a
    validation, those inside backward to activations that are computed again, those inside a compilation
    to nothing that runs.
    """
    torch = module.torch
    names = {torch.bfloat16: SIGNALS[0].name, torch.float16: SIGNALS[1].name}

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def enter(region: Any) -> Any:
            name = names.get(region.fast_dtype) if region._enabled else None
            elsewhere = recorder.inside(BACKWARD) or recorder.inside(COMPILE)
            if name is not None and torch.is_grad_enabled() and not elsewhere:
                recorder.count(name)
            return original(region)

        return enter

    recorder.wrap(module.autocast, "__enter__", make)
    recorder.count_from_zero(*names.values())
