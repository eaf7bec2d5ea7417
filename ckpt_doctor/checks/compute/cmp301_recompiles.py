"""The resumed run compiles again what it has already compiled.

What it means
-------------
A guard of the compiled code fails after the resume: a Python number that changes, a shape that is seen
as static, an attribute or tensor that the load replaced. If it fails at every step, every step pays.

How it is measured
------------------
Compilations since the process began, against the control's process until the end of its window. A
fresh process compiles too, and again when it first meets another shape: as many as the control are
normal. More are reported, with dynamo's reason for each: as a lasting slowdown from ``MIN_RECURRING`` more
on, where the compile part of the steps in the window grew; as a cost that fades where they took
``blame.ONE_TIME_S`` more and ``blame.ONE_TIME_RATIO`` times as long in all.

How to fix it
-------------
Do what the guard says: keep changing numbers out of the module's attributes or make them tensors, mark
changing dimensions as dynamic (``torch._dynamo.mark_dynamic``), load the state in place.

When it is wrong
----------------
A control that ended early has met fewer shapes than the resumed run. Longer compilations of the same
number are CMP302.
"""

from __future__ import annotations

import math
from collections import Counter

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Shape, Window
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side
from ckpt_doctor.facts.run import Event

MIN_RECURRING = 3
"""So many compilations more than in the control's whole life are more than a new shape."""
FRAME = "dynamo"
"""Trigger of a compilation of Python code. With a warm cache the backward comes along with it; with a
cold one it is compiled later, by itself."""
REASONS = 3
"""So many different reasons are told."""


NEEDS = ("compile",)
"""Traces mark compilations, too."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge the compilations of both processes."""
    comparison = case.comparison
    if comparison is None:
        return None
    if "compile" in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, "compile"))
    before, after = _compilations(comparison.before), _compilations(comparison.after)
    extra = len(after) - len(before)
    if extra <= 0:
        return None
    per_step_s = blame.growth_s(comparison, ("compile",))
    slower = blame.is_slower(comparison, proven=True) and blame.grew(comparison, ("compile",))
    lasting = slower and extra >= MIN_RECURRING
    once_s = _seconds(after) - _seconds(before)
    longer = once_s >= blame.ONE_TIME_S and _seconds(after) >= blame.ONE_TIME_RATIO * _seconds(before)
    if not lasting and not longer:
        return None
    cost_s = per_step_s if lasting else once_s
    told = units.per_step(cost_s) if lasting else f"{units.seconds(cost_s)} in all"
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The resumed run compiled {len(after)} times until here, the control {len(before)} times; "
        f"that costs {told}.",
        remedy=_remedy(after),
        evidence=(
            Evidence("compilations, before", len(before), None, "agent"),
            Evidence("compilations, after", len(after), None, "agent"),
            Evidence("seconds of compilation, before", _seconds(before), "s", "agent"),
            Evidence("seconds of compilation, after", _seconds(after), "s", "agent"),
            *(Evidence(f"reason ({n} times)", why, None, "dynamo") for why, n in _reasons(after)),
        ),
        confidence=Confidence.CONFIRMED if lasting or _reasons(after) else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s) if lasting else None,
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison) if lasting else Shape.DECAYING,
    )


def _compilations(window: Window) -> list[Event]:
    """Frames compiled until the window's end; a backward of its own is no recompile of the forward."""
    events = (event for event in window.rank.events_of("compile") if event.step < window.last)
    return [event for event in events if event.fields.get("trigger", FRAME) == FRAME]


def _seconds(events: list[Event]) -> float:
    return math.fsum(event.duration_s or 0.0 for event in events)


def _reasons(events: list[Event]) -> list[tuple[str, int]]:
    """Dynamo's reasons for compiling again, most frequent first."""
    told = [str(reason) for event in events if (reason := event.fields.get("reason"))]
    return Counter(told).most_common(REASONS)


def _remedy(events: list[Event]) -> str:
    reasons = _reasons(events)
    guard = f" The guard that failed: {reasons[0][0]}." if reasons else ""
    return (
        "Keep what changes from step to step out of what is compiled: numbers as tensors, changing sizes "
        "with "
        f"torch._dynamo.mark_dynamic, state loaded in place.{guard}"
    )
