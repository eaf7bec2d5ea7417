"""The options of the optimizers' groups are those of the control again."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "Another optimizer class stays, and so does an option that would need a state that is not there."
NEEDS = ("torch.optim.optimizer",)

PATHS = ("foreach", "fused", "capturable")
"""Options that choose between ways of computing the same."""
EXTRA_WORK = ("amsgrad", "differentiable")
"""Options that can be switched off; switched on they would need more state."""
ON_DEVICE = ("fused", "capturable")
"""Options with which ``step`` lies where the parameter does, and without which on the CPU."""


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back the options that changed."""
    changed = [change for change in comparison.changes if _can_be_put_back(change)]
    if not changed:
        return NotThere("no option of a group changed that can be put back")
    settings: dict[str, dict[str, dict[str, object]]] = {}
    for change in changed:
        _, number, _, group, option = change.key.split(".")
        settings.setdefault(number, {}).setdefault(group, {})[option] = change.before
    told = dict.fromkeys(f"{change.key.rpartition('.')[2]}={change.before}" for change in changed)
    return PutBack(what=", ".join(told), settings=settings)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Set the options before an optimizer's first step, after all that loads have brought back."""
    torch = module.torch

    def act(number: int, optimizer: Any, taken: int) -> None:
        for index, group in enumerate(optimizer.param_groups):
            options = settings.get(str(number), {}).get(str(index))
            if options is not None and any(group.get(name) != value for name, value in options.items()):
                group.update(options)
                _move_steps(torch, optimizer, group)
                recorder.event(TREATED, what=f"options of group {index} set")

    before_steps(module, act)


def _can_be_put_back(change: FingerprintChange) -> bool:
    words = change.key.split(".")
    if len(words) != 5 or words[0] != "optimizer" or words[2] != "group":
        return False
    return words[4] in PATHS or (words[4] in EXTRA_WORK and change.before is False)


def _move_steps(torch: Any, optimizer: Any, group: Mapping[str, Any]) -> None:
    """Move the counts of steps to where the options want them."""
    on_device = any(group.get(name) for name in ON_DEVICE)
    for parameter in group["params"]:
        step = optimizer.state.get(parameter, {}).get("step")
        if isinstance(step, torch.Tensor):
            optimizer.state[parameter]["step"] = step.to(parameter.device if on_device else "cpu")
