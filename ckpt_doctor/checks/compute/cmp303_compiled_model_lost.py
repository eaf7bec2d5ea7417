"""The model was compiled before the save, and runs eagerly after the resume.

What it means
-------------
The load replaced the compiled wrapper by a plain module, or dynamo gave up after too many recompiles
(``torch._dynamo.config.recompile_limit``) and fell back to eager execution. No compile events look
healthy, and every step is slower.

How it is measured
------------------
The fingerprints: frames compiled before, none after. Or ``RECOMPILE_LIMIT`` compilations more than the
control, none of them in the last half of the window. An error where forward, backward or the rest of
the step grew.

How to fix it
-------------
Load into the unwrapped module and compile afterwards; keep the compiled object and call that one.

When it is wrong
----------------
A script that compiles only a helper function counts as compiled. Ahead-of-time compiled models have no
frames.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, Window
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side

RECOMPILE_LIMIT = 8
"""Default of ``torch._dynamo.config.recompile_limit``."""
PARTS = ("forward", "backward", "optimizer", "rest")
FRAMES = "compiled.frames"


NEEDS = ("compile",)
"""Traces mark calls of compiled code, too."""


def find(case: Case) -> Found | None:
    """Judge whether the compiled code is still in use."""
    comparison = case.comparison
    if comparison is None:
        return None
    lost = _lost(comparison)
    fell_back = _fell_back(comparison)
    if not (lost or fell_back):
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, PARTS):
        return None
    cost_s = blame.growth_s(comparison, PARTS)
    how = (
        "was compiled before the save and is not any more"
        if lost
        else "was compiled too often and fell back to eager"
    )
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The model {how}, which costs {units.per_step(cost_s)}.",
        remedy="Load the state into the module itself, then call torch.compile on it and train the "
        "compiled object.",
        evidence=(
            Evidence("compiled frames, before", _frames(comparison.before), None, "fingerprint"),
            Evidence("compiled frames, after", _frames(comparison.after), None, "fingerprint"),
            Evidence("compilations, after", len(_compilations(comparison.after)), None, "agent"),
            *blame.part_evidence(comparison, PARTS),
        ),
        confidence=Confidence.CONFIRMED if lost else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )


def _lost(comparison: Comparison) -> bool:
    return bool(_frames(comparison.before)) and not _frames(comparison.after)


def _fell_back(comparison: Comparison) -> bool:
    before, after = _compilations(comparison.before), _compilations(comparison.after)
    middle = (comparison.after.first + comparison.after.last) / 2
    return len(after) >= len(before) + RECOMPILE_LIMIT and all(step < middle for step in after)


def _compilations(window: Window) -> list[int]:
    return [event.step for event in window.rank.events_of("compile") if event.step < window.last]


def _frames(window: Window) -> int | None:
    """Compiled frames at the last fingerprint; None where dynamo was never loaded."""
    prints = window.rank.fingerprints
    value = prints[-1].values.get(FRAMES) if prints else None
    return value if isinstance(value, int) else None
