"""Matmul precision, TF32 and the memory format of weights are those of the control again."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, NotTested, PutBack

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "Autocast regions and the types of parameters are the script's own: they stay as they are."
NEEDS = ("torch.optim.optimizer",)

PRECISION = "backend.matmul_precision"
BACKENDS = ("cuda", "mkldnn")
TF32 = "backend.cudnn_allow_tf32"
CHANNELS_LAST = "modules.channels_last"


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back the settings that changed, and the memory format where all weights have lost it."""
    keys = (PRECISION, TF32, *(f"backend.{name}_matmul_precision" for name in BACKENDS))
    settings = {c.key: c.before for c in comparison.changes if c.key in keys and c.before is not None}
    lost = [c for c in comparison.changes if c.key == CHANNELS_LAST and c.before and not c.after]
    if lost:
        settings[CHANNELS_LAST] = True
    if not settings:
        return NotTested("neither matmul precision, TF32 nor the memory format of weights changed")
    told = ", ".join(f"{key.partition('.')[2]}={value}" for key, value in settings.items())
    return PutBack(what=told, settings=settings)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Set them before the first step, when the script has set all of its own."""
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
