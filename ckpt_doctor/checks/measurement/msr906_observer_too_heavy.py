"""Observing takes a noticeable part of each step.

What it means
-------------
The agent's hooks and the stack sampler cost time of their own. In steps of a millisecond that is no longer
little: what is measured is the script and its observer, and a slowdown looks smaller than it is.

How it is measured
------------------
The agent times itself in every step (its median, which is in no part of the step). Turns with the stack
sampler are set against those without it; what it surely costs counts for its turns. A warning from
``HEAVY_RATIO`` of the step on. From ``blame.HEAVY_OBSERVER_RATIO`` on there is no verdict, unless the
slowdown is surely larger than what the observer takes.

How to fix it
-------------
``--no-stacks``; a larger batch or model for the measurement, so that a step takes longer.

When it is wrong
----------------
The agent's own time grows on a busy machine as everything does. What it does not time is not in it: that its
hooks are entered, and that they push the model's data out of the caches. A step loses two to five times
what the agent times of itself, in both runs alike.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

HEAVY_RATIO = 0.05
"""Part of the step that observing takes, from which on it is said: what identical code differs by."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge what the measurement itself costs."""
    comparison = case.comparison
    if comparison is None:
        return None
    share = blame.observer_ratio(comparison)
    if share is None:
        return CannotTell("the agent's own time was not recorded")
    if share < HEAVY_RATIO:
        return None
    doubt = blame.observed_too_closely(comparison)
    effect = "so the clock proves nothing" if doubt else "so a slowdown looks smaller than it is"
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"Observing takes {units.percent(share)} of a step, {effect}.",
        remedy="Measure without stacks (--no-stacks), or with larger steps (a larger batch or model).",
        evidence=(
            Evidence("the agent's own time", comparison.agent_per_step_s, "s/step", "agent"),
            Evidence("step with the stack sampler over without", comparison.sampler_ratio, "ratio", "py-spy"),
            Evidence("step time, before", comparison.before.step_s, "s", "agent"),
            Evidence("step time, after", comparison.after.step_s, "s", "agent"),
        ),
        confidence=Confidence.CONFIRMED,
    )
