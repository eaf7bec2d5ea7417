"""The garbage collector leaves alone what is there at the first step, and nobody calls it by hand."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, NotTested, PutBack
from ckpt_doctor.stats.fingerprints import value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "Objects that the steps themselves make are collected as before, and so are those of loader workers."
NEEDS = ("torch.optim.optimizer",)

THRESHOLD, ENABLED = "gc.threshold", "gc.enabled"


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Freeze what a load has left, do not hear calls of the collector, and put its settings back."""
    rank = comparison.before.rank
    changed = {c.key for c in comparison.changes}
    settings = {key: value_at_end(rank, key) for key in (THRESHOLD, ENABLED) if key in changed}
    told = [f"{key}={value}" for key, value in settings.items()]
    return PutBack(
        what=", ".join(["gc.freeze after the load, gc.collect not heard", *told]), settings=settings
    )


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Collect once more before the first step; from then on calls by hand return at once."""
    frozen = False

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def collect(*args: Any, **kwargs: Any) -> Any:
            return 0 if frozen else original(*args, **kwargs)

        return collect

    def act(number: int, optimizer: Any, taken: int) -> None:
        nonlocal frozen
        if frozen:
            return
        if settings.get(THRESHOLD):
            gc.set_threshold(*map(int, settings[THRESHOLD].split(",")))
        if ENABLED in settings:
            (gc.enable if settings[ENABLED] else gc.disable)()
        gc.collect()
        gc.freeze()
        frozen = True
        recorder.event(TREATED, what=f"{gc.get_freeze_count()} objects frozen")

    recorder.wrap(gc, "collect", make)
    before_steps(module, act)
