"""What a checkpoint load has returned is emptied before the first step, as if the script had dropped it."""

from __future__ import annotations

import sys
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
    "Parts of the checkpoint that the script keeps under names of their own stay, and a script that looks "
    "into the loaded dictionary later fails."
)
NEEDS = ("torch.serialization", "safetensors.torch", "torch.optim.optimizer")

LOADS = {"torch.serialization": "load", "safetensors.torch": "load_file"}
PACKAGES = {"torch.serialization": ("torch",)}
"""Packages that hand the same function out under their own name."""

_loaded: list[dict[Any, Any]] = []


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Empty what was loaded, if something was."""
    if not any(comparison.after.rank.events_of("load")):
        return NotThere("no load was seen")
    return PutBack(what="the loaded dictionary released", settings={})


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Remember the dictionaries that loads return, until an optimizer is about to step."""
    if module.__name__ not in LOADS:
        before_steps(module, lambda number, optimizer, taken: _release(recorder))
        return
    name = LOADS[module.__name__]
    for owner in (module, *(sys.modules[package] for package in PACKAGES.get(module.__name__, ()))):
        recorder.wrap(owner, name, _remembering)


def _remembering(original: Callable[..., Any]) -> Callable[..., Any]:
    def load(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if isinstance(result, dict) and not any(result is known for known in _loaded):
            _loaded.append(result)
        return result

    return load


def _release(recorder: Recorder) -> None:
    """Empty them; what their values were copied into or belongs to lives on."""
    entries = sum(map(len, _loaded))
    for loaded in _loaded:
        loaded.clear()
    _loaded.clear()
    if entries:
        recorder.event(TREATED, what=f"{entries} entries released")
