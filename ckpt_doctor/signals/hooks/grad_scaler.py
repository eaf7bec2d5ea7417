"""The gradient scaler: where its scale began, and updates skipped for a gradient that was not finite."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (Signal("scaler_skip", "event", "compute", "a GradScaler left out an optimizer step"),)
NEEDS = ("torch.amp.grad_scaler",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the scaler's own decision whether to step; it waits for the same numbers from the device."""
    numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    following = itertools.count()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def maybe_step(scaler: Any, optimizer: Any, optimizer_state: Any, *args: Any, **kwargs: Any) -> Any:
            if scaler not in numbers:
                numbers[scaler] = next(following)
            # Asked before the step: afterwards it would wait for the step's own kernels.
            skipped = any(v.item() for v in optimizer_state["found_inf_per_device"].values())
            result = original(scaler, optimizer, optimizer_state, *args, **kwargs)
            if skipped:
                recorder.event("scaler_skip", scale=_scale_on_cpu(scaler))
                recorder.count("scaler_skips")
                recorder.update_done(optimizer)
            return result

        return maybe_step

    def describe() -> dict[str, object]:
        values: dict[str, object] = {}
        for scaler, number in list(numbers.items()):
            # A scaler that was loaded began at the scale that was saved.
            values[f"scaler.{number}.first_scale"] = scaler._init_scale
            values[f"scaler.{number}.scale"] = _scale_on_cpu(scaler)
        return values

    recorder.wrap(module.GradScaler, "_maybe_opt_step", make)
    recorder.describe_with(describe)


def _scale_on_cpu(scaler: Any) -> float | None:
    """The scale, unless reading it would wait for a device."""
    scale = scaler._scale
    return float(scale) if scale is not None and scale.device.type == "cpu" else None
