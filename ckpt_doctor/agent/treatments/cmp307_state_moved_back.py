"""Optimizer state is moved back to the kind of device, and to the pinned memory, where the control has it."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import optimizer_numbers, value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.facts.run import RankRecord
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "State that lies on several kinds of device in the control is left where it is."
NEEDS = ("torch.optim.optimizer",)

MOMENTS, STEPS, PINNED = "state_devices", "step_devices", "state_pinned_bytes"


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Move what lies elsewhere to the one kind of device of the control."""
    before, after = comparison.before.rank, comparison.after.rank
    settings: dict[str, dict[str, object]] = {}
    for number in optimizer_numbers(after):
        for name in (MOMENTS, STEPS):
            devices = _devices(before, number, name)
            if len(devices) == 1 and devices != _devices(after, number, name):
                settings.setdefault(number, {})[name] = devices[0]
        pinned = [value_at_end(rank, f"optimizer.{number}.{PINNED}") for rank in (before, after)]
        if pinned[0] and not pinned[1]:
            settings.setdefault(number, {})[PINNED] = True
    if not settings and all(
        _devices(before, number, name) == _devices(after, number, name)
        for number in optimizer_numbers(after)
        for name in (MOMENTS, STEPS)
    ):
        return NotThere("the optimizer's state lies on the same kinds of device as in the control")
    if not settings:
        return NotTested("the control's state lies on several kinds of device, or it is not known on which")
    wanted = (pair for own in settings.values() for pair in own.items())
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in wanted)
    return PutBack(what=told, settings=settings)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Move before an optimizer's first step."""
    torch = module.torch

    def act(number: int, optimizer: Any, taken: int) -> None:
        wanted = settings.get(str(number), {})
        moved = sum(_move(torch, parameter, state, wanted) for parameter, state in optimizer.state.items())
        if moved:
            recorder.event(TREATED, what=f"{moved} tensors moved")

    before_steps(module, act)


def _devices(rank: RankRecord, number: str, name: str) -> list[str]:
    """Kinds of device from ``cpu:3,cuda:9``."""
    listed = value_at_end(rank, f"optimizer.{number}.{name}")
    return [word.partition(":")[0] for word in listed.split(",") if word] if isinstance(listed, str) else []


def _move(torch: Any, parameter: Any, state: dict[str, Any], wanted: Mapping[str, Any]) -> int:
    """Move a parameter's state; returns how many tensors had to be."""
    moved = 0
    for name, value in list(state.items()):
        if not isinstance(value, torch.Tensor):
            continue
        kind = wanted.get(MOMENTS if value.ndim else STEPS, value.device.type)
        placed = value
        if value.device.type != kind:
            placed = value.to(parameter.device if parameter.device.type == kind else kind)
        if wanted.get(PINNED) and value.ndim and placed.device.type == "cpu":
            placed = placed.pin_memory()
        state[name] = placed
        moved += placed is not value
    return moved
