"""The speed that the training's own log shows is not the speed of its steps.

What it means
-------------
Frameworks divide by the wrong time or count the wrong steps after a resume: the samples of all sessions over
the time of one (too fast, up to hundreds of times), or the steps of one over a time that holds the skipping
of data (too slow). The run is as fast as the clock says; the shown number makes it a slowdown, or a miracle,
that is none.

How it is measured
------------------
The log's own steps, samples or tokens per second against the time between its entries. Where both runs show
a rate of one name: by how much it changed, against by how much the steps became quicker, allowing for other
work in a step where that is known. Where only one run shows steps per second: that times the step time.
Reported from ``OFF_RATIO`` on, in either direction. The shown numbers are used for nothing else.

How to fix it
-------------
Measure by the clock; report it to the framework. Newer versions of some count from the resume.

When it is wrong
----------------
A rate that counts something else than it says (micro-batches as steps, padded tokens) is off by the same
factor in both runs, and reported only where just one run shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, Window
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side

OFF_RATIO = 2.0
"""Smoothing and averaging over the start of a run make shown rates differ by some ten per cent."""
SIGNAL = "reported_rate"
WORK = ("samples", "elements", "multiply_adds")
"""Counters of the work in a step, of which the first that is known counts."""
UPDATES = "steps"
"""Part of the names of rates that count optimizer steps for sure; batches may be micro-batches."""


NEEDS = ()
"""Only logs show a speed of their own."""


def find(case: Case) -> tuple[Found, ...]:
    """Judge every rate that the logs show."""
    comparison = case.comparison
    if comparison is None:
        return ()
    before, after = _rates(comparison.before), _rates(comparison.after)
    found = [_changed(comparison, name, before[name], after[name]) for name in before.keys() & after.keys()]
    for side, window, rates, other in (
        ("before", comparison.before, before, after),
        ("after", comparison.after, after, before),
    ):
        found += [_off(side, window, name, rates[name]) for name in rates.keys() - other.keys()]
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.summary))


def _rates(window: Window) -> Mapping[str, float]:
    """Median of each rate since the origin, by name."""
    seen: dict[str, list[float]] = {}
    for event in window.rank.events_of(SIGNAL):
        name, per_s = event.fields.get("name"), event.fields.get("per_s")
        if event.step >= window.origin and isinstance(name, str) and isinstance(per_s, float):
            seen.setdefault(name, []).append(per_s)
    return {name: median(values) for name, values in seen.items()}


def _changed(comparison: Comparison, name: str, before: float, after: float) -> Found | None:
    """A rate that both runs show."""
    real_ratio = comparison.before.step_s / comparison.after.step_s
    if not _counts_steps(comparison.after, name):
        real_ratio *= next((f for n in WORK if (f := blame.factor(comparison.counter(n)))), 1.0)
    shown_ratio = after / before
    if not _is_off(shown_ratio / real_ratio):
        return None
    return _found(
        f"The log's own {name} changes {units.ratio(shown_ratio)} by the resume "
        f"({units.number(before)} -> {units.number(after)} per second); "
        f"by the clock the steps run at {units.ratio(real_ratio)} of their speed before.",
        [
            Evidence(f"{name} shown, before", before, "per second", "log"),
            Evidence(f"{name} shown, after", after, "per second", "log"),
            Evidence("speed by the clock, after over before", real_ratio, "ratio", "clock"),
        ],
    )


def _off(side: str, window: Window, name: str, per_s: float) -> Found | None:
    """A rate that one run shows, and that can be held against the clock by itself."""
    if UPDATES not in name or not _counts_steps(window, name) or not _is_off(per_s * window.step_s):
        return None
    return _found(
        f"The log's own {name} of the run {side} the resume is {units.ratio(per_s * window.step_s)} of what "
        f"the clock says: {units.number(per_s)} per second are shown, {units.number(1 / window.step_s)} are "
        "real.",
        [
            Evidence(f"{name} shown, {side}", per_s, "per second", "log"),
            Evidence(f"steps by the clock, {side}", 1 / window.step_s, "per second", "clock"),
        ],
    )


def _counts_steps(window: Window, name: str) -> bool:
    return any(e.fields.get("name") == name and e.fields.get("steps") for e in window.rank.events_of(SIGNAL))


def _is_off(ratio: float) -> bool:
    return abs(math.log(ratio)) >= math.log(OFF_RATIO)


def _found(summary: str, evidence: Sequence[Evidence]) -> Found:
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=summary,
        remedy="Go by the clock, as this comparison does; the framework's number counts the steps or the "
        "time of other sessions, too.",
        evidence=tuple(evidence),
        confidence=Confidence.CONFIRMED,
    )
