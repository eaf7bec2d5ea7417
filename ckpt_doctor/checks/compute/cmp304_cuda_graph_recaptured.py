"""CUDA graphs are captured again after the resume, or are not replayed any more.

What it means
-------------
A graph holds the addresses of its tensors. When the load puts new tensors in their place, the graph is
captured again (a second each, and memory), or skipped for eager launches.

How it is measured
------------------
Captures within the window: ``MIN_CAPTURES`` at least, and more per step than the control's. Or replays
per step fell to ``LOST_RATIO`` of the control's. An error where compile time, forward, backward or the
rest of the step grew.

How to fix it
-------------
Copy the loaded values into the static tensors in place (``copy_``); capture after the load, not before.

When it is wrong
----------------
Captures of other sizes are normal while new sizes keep coming. On an asynchronous device the parts are
the host's, not the device's.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

MIN_CAPTURES = 2
"""A single late capture can be a size that had not come before."""
CAPTURE_RATIO = 2.0
"""Growth of captures per step that counts."""
LOST_RATIO = 0.5
"""Replays per step that fell below half are graphs that are no longer used."""
PARTS = ("compile", "forward", "backward", "optimizer", "rest")


NEEDS = ("graph_capture",)
"""Traces mark captures and launches, too."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge captures and replays."""
    comparison = case.comparison
    if comparison is None:
        return None
    if "graph_capture" in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, "graph_capture"))
    captured, lost = _captures_again(comparison), _replays_lost(comparison)
    if not (captured or lost):
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, PARTS):
        return None
    cost_s = blame.growth_s(comparison, PARTS)
    count = len(comparison.after.events_within("graph_capture"))
    what = (
        f"were captured {count} times within {comparison.after.steps} steps"
        if captured
        else "are replayed no more"
    )
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"CUDA graphs {what}, which costs {units.per_step(cost_s)}.",
        remedy="Copy loaded values into the graph's static tensors in place, and capture after the load.",
        evidence=(
            Evidence(
                "captures, before", len(comparison.before.events_within("graph_capture")), None, "agent"
            ),
            Evidence("captures, after", count, None, "agent"),
            *blame.counter_evidence(comparison.counter("graph_replays"), "agent"),
            *blame.part_evidence(comparison, PARTS),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )


def _captures_again(comparison: Comparison) -> bool:
    counts = [len(w.events_within("graph_capture")) for w in (comparison.before, comparison.after)]
    rates = [counts[0] / comparison.before.steps, counts[1] / comparison.after.steps]
    return counts[1] >= MIN_CAPTURES and rates[1] >= CAPTURE_RATIO * rates[0]


def _replays_lost(comparison: Comparison) -> bool:
    replays = blame.factor(comparison.counter("graph_replays"))
    return replays is not None and replays <= LOST_RATIO
