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
Where ``loading.RESTARTS`` loaders or more were first used within the window, loaders are built anew.

How to fix it
-------------
Build the loader once, outside the epoch loop, with ``persistent_workers=True``: the workers live as long as
their loader does, so either of the two alone does not keep them.

When it is wrong
----------------
The one start at the beginning of a process is normal and lies before the window. A window shorter than
an epoch cannot see a start each epoch.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.comparison import Comparison, Shape, Window
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Location, Severity, Side
from ckpt_doctor.facts.run import Event

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
    built = _built_anew(comparison.after)
    lines = loading.user_lines(built, "built_") or loading.user_lines(starts)
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"Workers were started {len(starts)} times within {comparison.after.steps} steps "
        f"({len(comparison.before.events_within('worker_start'))} times before), which costs "
        f"{units.per_step(cost_s)}.",
        remedy=_remedy(comparison.after, len(built)),
        evidence=(
            Evidence("worker starts in the window, before", _starts(comparison, after=False), None, "agent"),
            Evidence("worker starts in the window, after", _starts(comparison, after=True), None, "agent"),
            Evidence("time of starts and first batches", loading.restart_s(comparison), "s/step", "agent"),
            *blame.part_evidence(comparison, ("data_wait",)),
            Evidence("steps after a start, outside the loader", later_s, "s/step", "agent"),
            *((Evidence("loaders built anew", len(built), None, "agent"),) if built else ()),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=Shape.PERIODIC,
        location=Location(*lines[0]) if lines else None,
    )


def _cost_s(comparison: Comparison) -> float:
    grown_s = loading.wait_s(comparison)
    if loading.reads_more(comparison) or loading.poorer_arguments(comparison):
        grown_s = min(grown_s, loading.restart_s(comparison))
    return min(grown_s + loading.after_starts_s(comparison), comparison.delta_s)


def _built_anew(window: Window) -> tuple[Event, ...]:
    """First uses, within the window, of loaders with workers; none where they are too few to matter."""
    new = tuple(event for event in loading.loaders_with_workers(window) if event.step >= window.first)
    return new if len(new) >= loading.RESTARTS else ()


def _remedy(window: Window, built: int) -> str:
    """What keeps the workers: one loader, or the argument, or both."""
    loaders = loading.loaders_with_workers(window)
    kept = bool(loaders) and all(event.fields.get("persistent_workers") for event in loaders)
    if built:
        told = f"the resumed run builds a new one {built} times within {window.steps} steps"
        if kept:
            return (
                f"Build the DataLoader once, and keep it: {told}, and persistent_workers=True keeps workers "
                "no longer than their loader."
            )
        return f"Build the DataLoader once, outside the epoch loop ({told}), and set persistent_workers=True."
    if loaders and not kept:
        return "Set persistent_workers=True: the loader is kept, but starts new workers for each epoch."
    return "Build the DataLoader once, outside the epoch loop, and set persistent_workers=True."


def _starts(comparison: Comparison, *, after: bool) -> int:
    return len((comparison.after if after else comparison.before).events_within("worker_start"))
