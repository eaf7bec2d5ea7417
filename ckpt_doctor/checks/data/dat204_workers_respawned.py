"""The resumed run starts loader workers again and again.

What it means
-------------
Each start forks or spawns processes, imports, copies the data set and waits for the first batch. With
short epochs that can cost more than the training itself. It comes in stalls, so the median step looks
healthy.

How it is measured
------------------
Worker starts within the window: at least ``loading.RESTARTS`` more than in the control's and
``loading.RESTART_RATIO`` times as many per step, and data wait grew. The cost is that of the starts and
of the first batches after them; all of the growth, where nothing else on the data side moved. Added to it
is what the first half of the steps between two starts takes longer, outside the loader, than the second
half: after a fork every page that the training writes is copied first, and the new workers want the CPU.

How to fix it
-------------
``persistent_workers=True``, and build the loader once, outside the epoch loop.

When it is wrong
----------------
The one start at the beginning of a process is normal and lies before the window. A window shorter than
an epoch cannot see a start each epoch.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.comparison import Comparison, Shape
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Location, Severity, Side

NEEDS = ("worker_start",)
"""Traces with stacks show the starts of processes, too."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge the worker starts of both windows."""
    comparison = case.comparison
    if comparison is None:
        return None
    if "worker_start" in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, "worker_start"))
    if not loading.restarts_workers(comparison):
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, ("data_wait",)):
        return None
    cost_s = _cost_s(comparison)
    later_s = loading.after_starts_s(comparison)
    starts = comparison.after.events_within("worker_start")
    lines = loading.user_lines(starts)
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"Workers were started {len(starts)} times within {comparison.after.steps} steps "
        f"({len(comparison.before.events_within('worker_start'))} times before), which costs "
        f"{units.per_step(cost_s)}.",
        remedy="Build the DataLoader once, outside the epoch loop, and set persistent_workers=True.",
        evidence=(
            Evidence("worker starts in the window, before", _starts(comparison, after=False), None, "agent"),
            Evidence("worker starts in the window, after", _starts(comparison, after=True), None, "agent"),
            Evidence("time of starts and first batches", loading.restart_s(comparison), "s/step", "agent"),
            *blame.part_evidence(comparison, ("data_wait",)),
            Evidence("steps after a start, outside the loader", later_s, "s/step", "agent"),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=Shape.PERIODIC,
        location=Location(*lines[0]) if lines else None,
    )


def _cost_s(comparison: Comparison) -> float:
    grown_s = blame.growth_s(comparison, ("data_wait",))
    if loading.reads_more(comparison) or loading.poorer_arguments(comparison):
        grown_s = min(grown_s, loading.restart_s(comparison))
    return grown_s + loading.after_starts_s(comparison)


def _starts(comparison: Comparison, *, after: bool) -> int:
    return len((comparison.after if after else comparison.before).events_within("worker_start"))
