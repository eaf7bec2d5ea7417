"""Precision, default type and memory format are as in the control, and autocast stays off as there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "Autocast that is not entered any more cannot be put back, and neither can types that the script or a "
    "load gives to parameters one by one."
)
NEEDS = ("torch", "torch.amp.autocast_mode", "torch.optim.optimizer")

PRECISION = "backend.matmul_precision"
BACKENDS = ("cuda", "mkldnn")
TF32 = "backend.cudnn_allow_tf32"
CHANNELS_LAST = "modules.channels_last"
DEFAULT_TYPE = "default_dtype"
AUTOCAST = "autocast"
REGIONS = ("autocast_bfloat16", "autocast_float16")


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back the settings that changed, and the memory format where all weights have lost it."""
    keys = (PRECISION, TF32, DEFAULT_TYPE, *(f"backend.{name}_matmul_precision" for name in BACKENDS))
    settings = {c.key: c.before for c in comparison.changes if c.key in keys and c.before is not None}
    if any(c.key == CHANNELS_LAST and c.before and not c.after for c in comparison.changes):
        settings[CHANNELS_LAST] = True
    regions = [comparison.counter(name) for name in REGIONS]
    if any(c is not None and c.before == 0 and c.after for c in regions):
        settings[AUTOCAST] = False
    if not settings:
        return NotThere("nothing of the precision changed that can be put back from outside")
    told = ", ".join(f"{key.removeprefix('backend.')}={value}" for key, value in settings.items())
    return PutBack(what=told, settings=settings)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Leave out what the script changes on its way, and set the rest before the first step."""
    if module.__name__ == "torch":
        if DEFAULT_TYPE in settings:
            recorder.wrap(module, "set_default_dtype", _keep_default(recorder, settings[DEFAULT_TYPE]))
    elif module.__name__ == "torch.amp.autocast_mode":
        if settings.get(AUTOCAST) is False:
            recorder.wrap(module.autocast, "__enter__", _no_autocast(recorder))
    elif set(settings) - {DEFAULT_TYPE, AUTOCAST}:
        _before_first_step(recorder, module, settings)


def _before_first_step(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    torch = module.torch
    done = False

    def act(number: int, optimizer: Any, taken: int) -> None:
        nonlocal done
        if not done:
            done = True
            _set(torch, settings)
            recorder.event(TREATED, what=", ".join(settings))
        if settings.get(CHANNELS_LAST):
            for group in optimizer.param_groups:
                _lay_out(torch, group["params"])

    before_steps(module, act)


def _set(torch: Any, settings: Mapping[str, Any]) -> None:
    if PRECISION in settings:
        # It sets those of the backends as well; torch does not like them to be set one by one after it.
        torch.set_float32_matmul_precision(settings[PRECISION])
    for name in BACKENDS if PRECISION not in settings else ():
        value = settings.get(f"backend.{name}_matmul_precision")
        if value is not None:
            getattr(torch.backends, name).matmul.fp32_precision = value
    if TF32 in settings:
        torch.backends.cudnn.allow_tf32 = settings[TF32]


def _lay_out(torch: Any, parameters: list[Any]) -> None:
    for parameter in parameters:
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)


def _keep_default(recorder: Recorder, wanted: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_or_not(dtype: Any) -> None:
            if str(dtype).removeprefix("torch.") == wanted:
                original(dtype)
            else:
                recorder.event(TREATED, what=f"{wanted} kept as the default type")

        return set_or_not

    return make


def _no_autocast(recorder: Recorder) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    told = False

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(region: Any) -> Any:
            nonlocal told
            if region._enabled and not told:
                told = True
                recorder.event(TREATED, what="autocast left off")
            region._enabled = False
            return original(region)

        return enter

    return make
