"""The steps of the resumed run become ever more expensive.

What it means
-------------
Something grows with every step and is gone through again in each: a history that is serialised or
summed, a list that is searched, hooks that are added, a graph that is kept.

How it is measured
------------------
The shape of the slowdown is growing: the last third of the window takes ``blame.GROWING_RATIO`` times as
long as the first, with a clear trend that the control does not have. The user's lines that grew name the
place. What other rules explain is not counted, nor what grows within the optimizer's own step.

How to fix it
-------------
Keep histories out of the step, write them in pieces, and drop references to old losses.

When it is wrong
----------------
Data that become larger by themselves (sorted by length), or memory that fills up, grow in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, leftover
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Finding, Found, Severity, Side

NEEDS = ()
"""The clock is enough."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge the growth within the window."""
    comparison = case.comparison
    if comparison is None or not blame.cost_grows(comparison):
        return None
    left_s = blame.unexplained_s(comparison, findings)
    if left_s <= 0:
        return None
    grown = blame.growth_within(comparison)
    lines = leftover.lines(comparison, left_s)
    return Found(
        severity=Severity.ERROR,
        side=Side.WORK,
        summary=f"Steps become more expensive: the last third of the window takes {units.ratio(grown)} of "
        "the first; "
        f"on average each step takes {units.seconds(left_s)} longer than before.",
        remedy=leftover.advice(lines, "histories, lists and hooks that grow with every step"),
        evidence=(
            Evidence("last third of the window over the first", grown, "ratio", "agent"),
            *blame.line_evidence(lines),
        ),
        confidence=Confidence.CONFIRMED if lines else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, left_s),
        delta_s=left_s,
        shape=Shape.GROWING,
        location=blame.location_of(lines),
    )
