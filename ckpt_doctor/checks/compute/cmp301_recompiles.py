"""The resumed run compiles again what it has already compiled.

What it means
-------------
A guard of the compiled code fails after the resume: a Python number that changes, a shape that is seen
as static, an attribute or tensor that the load replaced. If it fails at every step, every step pays.

How it is measured
------------------
Compilations since the process began, against the control's process until the end of its window. A
fresh process compiles too, and again when it first meets another shape: as many as the control are
normal. More are reported, with the guards that failed by dynamo's own account: as a lasting slowdown from
``MIN_RECURRING`` more on, where the compile part of the steps in the window grew; as a cost that fades where
they took ``blame.ONE_TIME_S`` more and ``blame.ONE_TIME_RATIO`` times as long in all.

How to fix it
-------------
Look at the value that the guard watches: make a number that changes a tensor, mark changing dimensions as
dynamic (``torch._dynamo.mark_dynamic``), give what was loaded the type, dtype and length that it had, and
load in place rather than into new objects.

When it is wrong
----------------
A control that ended early has met fewer shapes than the resumed run. Longer compilations of the same
number are CMP302.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, recompiles
from ckpt_doctor.checks.recompiles import FailedGuard
from ckpt_doctor.facts.comparison import Shape, Window
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Location, Severity, Side
from ckpt_doctor.facts.run import Event

MIN_RECURRING = 3
"""So many compilations more than in the control's whole life are more than a new shape."""
FRAME = "dynamo"
"""Trigger of a compilation of Python code. With a warm cache the backward comes along with it; with a
cold one it is compiled later, by itself."""
VALUES = 3
"""So many values whose guards failed are told, and so many guards on each."""

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
    failed = _by_value(recompiles.failed_guards(after))
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The resumed run compiled {len(after)} times until here, the control {len(before)} times"
        f"{_why(failed)}; that costs {told}.",
        remedy=failed[0][0].remedy if failed else recompiles.UNKNOWN,
        evidence=(
            Evidence("compilations, before", len(before), None, "agent"),
            Evidence("compilations, after", len(after), None, "agent"),
            Evidence("seconds of compilation, before", _seconds(before), "s", "agent"),
            Evidence("seconds of compilation, after", _seconds(after), "s", "agent"),
            *(_evidence(guards) for guards in failed[:VALUES]),
        ),
        confidence=Confidence.CONFIRMED if lasting or failed else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s) if lasting else None,
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison) if lasting else Shape.DECAYING,
        location=failed[0][0].location if failed else _most_compiled(after),
    )


def _compilations(window: Window) -> list[Event]:
    """Frames compiled until the window's end; a backward of its own is no recompile of the forward."""
    events = (event for event in window.rank.events_of("compile") if event.step < window.last)
    return [event for event in events if event.fields.get("trigger", FRAME) == FRAME]


def _seconds(events: list[Event]) -> float:
    return math.fsum(event.duration_s or 0.0 for event in events)


def _by_value(guards: Iterable[FailedGuard]) -> list[list[FailedGuard]]:
    """Failed guards that watch the same value together, those that failed most often first."""
    groups: dict[str, list[FailedGuard]] = {}
    for guard in guards:
        groups.setdefault(guard.value or guard.text, []).append(guard)
    return sorted(groups.values(), key=lambda group: -len(group))


def _why(failed: Sequence[Sequence[FailedGuard]]) -> str:
    return f", since {failed[0][0].value} changed" if failed and failed[0][0].value else ""


def _evidence(guards: Sequence[FailedGuard]) -> Evidence:
    first = guards[0]
    name = f"guards on {first.value} that failed" if first.value else "guards that failed"
    shown = list(dict.fromkeys(guard.text for guard in guards))[:VALUES]
    return Evidence(f"{name} ({len(guards)} times)", "; ".join(shown), None, "dynamo")


def _most_compiled(events: Iterable[Event]) -> Location | None:
    """The user's function that was compiled most often, where dynamo gives no reasons."""
    places = Counter(place for event in events if (place := recompiles.compiled_at(event)) is not None)
    return places.most_common(1)[0][0] if places else None
