"""Compiled code is looked for where the control found it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "It cannot bring back what was never in the control's cache folder: code that is compiled for another "
    "shape, device or version, and caches on another machine."
)
NEEDS = ("torch._dynamo.callback",)

FOLDER = "TORCHINDUCTOR_CACHE_DIR"
DISABLED = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Use the control's cache folder, and its caches if the resumed run has switched them off."""
    before, after = (
        {name: value_at_end(window.rank, f"env.{name}") for name in (FOLDER, DISABLED)}
        for window in (comparison.before, comparison.after)
    )
    folder = before[FOLDER]
    if not isinstance(folder, str):
        return NotTested("the control's cache folder is not known")
    if before == after:
        return NotThere("both runs look for compiled code in the same folder")
    disabled = before[DISABLED]
    return PutBack(
        what=f"compile cache in {folder}",
        settings={"folder": folder, "enable": disabled is None and after[DISABLED] is not None},
        environment={FOLDER: folder, DISABLED: disabled if isinstance(disabled, str) else None},
    )


def cost_s(comparison: Comparison) -> float | None:
    """Seconds of compilation until the window."""
    events = comparison.after.events_before("compile")
    return sum(event.duration_s or 0.0 for event in events) if events else None


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Set the folder again whenever a compilation begins: scripts set it too."""
    told = False

    def look_there(args: Any) -> None:
        nonlocal told
        os.environ[FOLDER] = settings["folder"]
        config = sys.modules.get("torch._inductor.config")
        if config is not None and settings["enable"]:
            config.force_disable_caches = False  # type: ignore[attr-defined]
        if not told:
            told = True
            recorder.event(TREATED, what="cache folder set")

    module.callback_handler.register_start_callback(look_there)
