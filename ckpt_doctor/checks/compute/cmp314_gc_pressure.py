"""Python's garbage collector stops the resumed run for longer than the control.

What it means
-------------
A full collection goes through every object that can hold others. Samples kept as objects, a history loaded
out of the checkpoint, or a lost ``gc.freeze`` make each of them longer; ``gc.collect()`` in the loop, lower
thresholds or a collector that is switched on again make them more frequent.

How it is measured
------------------
The collector's own callbacks time each pause in the training thread: that part of the step grew. What made
it grow: pauses per step rose by ``PAUSES_RATIO`` and ``PAUSES``; or the objects in memory (blocks that
Python's allocator has in use) by ``OBJECTS_RATIO`` and ``OBJECTS``; or so many fewer of them are frozen.
Pauses come in bursts, so the median step looks healthy. Where recompiles are found as well (CMP301) and
``COMPILING_SHARE`` of the pauses' time lies in steps that compile, what is collected is the compiler's: then
this is a warning beside it.

How to fix it
-------------
``gc.freeze()`` after the load, arrays in place of one object a sample, no ``gc.collect()`` in the step;
``gc.disable()`` with a collection at each epoch's end.

When it is wrong
----------------
A run that makes more cycles has more to collect for a reason of its own: the line that grew tells. Pauses
in loader workers are data wait. Numbers and text are objects that no collection looks at for long, but they
are counted too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, memory
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Finding, Found, Severity, Side

PARTS = ("gc",)
RECOMPILES = "CMP301"
COMPILING_SHARE = 0.8
"""Pauses that take this part of their time in steps that compile come with the compilations."""
PAUSES_RATIO = 1.5
"""Growth of pauses per step that counts ..."""
PAUSES = 0.01
"""... and at least so many more: one in a hundred steps can be a full collection."""
OBJECTS_RATIO = 1.5
"""Growth of tracked objects that counts ..."""
OBJECTS = 100_000.0
"""... and at least so many more: importing torch makes several times that, within a few percent."""
LINE_SHARE = 0.5
"""A line that grew by this part of the pauses is where they come from."""
SETTINGS = ("enabled", "threshold")


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | CannotTell | None:
    """Judge the pauses and what they go through, and whether recompiles bring them."""
    comparison = case.comparison
    if comparison is None:
        return None
    if "gc" in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, "gc"))
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, PARTS):
        return None
    cost_s = min(blame.growth_s(comparison, PARTS), comparison.delta_s)
    oftener = _pauses_oftener(comparison)
    more = _objects_more(comparison) or _thawed(comparison)
    follows = _follows_recompiles(comparison, findings)
    lines = () if follows else blame.grown_lines(comparison, LINE_SHARE * cost_s)[:1]
    cause = f", in the steps that compile: they come with the recompiles ({RECOMPILES})" if follows else ""
    return Found(
        severity=Severity.WARNING if follows else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"Garbage collections take {units.per_step(cost_s)} more than before"
        f"{_why(comparison)}{cause}.",
        remedy=f"Nothing of its own: it goes with the recompiles ({RECOMPILES})."
        if follows
        else _remedy(oftener=oftener),
        evidence=(
            *blame.part_evidence(comparison, PARTS),
            *blame.counter_evidence(comparison.counter("gc_pauses"), "agent"),
            *_object_evidence(comparison),
            *blame.change_evidence(blame.changes_of(comparison, "gc.", SETTINGS)),
            *blame.line_evidence(lines),
        ),
        confidence=blame.confidence(part_grew=True, counter_moved=oftener or more),
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
        location=blame.location_of(lines),
    )


def _follows_recompiles(comparison: Comparison, findings: Sequence[Finding]) -> bool:
    """Whether recompiles cost time, and the pauses of the resumed run lie in the steps that compile."""
    if not any(finding.code == RECOMPILES and blame.explains(finding) for finding in findings):
        return False
    window = comparison.after
    parts = window.rank.steps.parts
    rows = list(zip(parts["gc"], parts["compile"], strict=True))[window.first : window.last]
    in_compiling_s = sum(gc_s for gc_s, compile_s in rows if compile_s > 0)
    return in_compiling_s >= COMPILING_SHARE * sum(gc_s for gc_s, _ in rows)


def _pauses_oftener(comparison: Comparison) -> bool:
    return bool(blame.moved(comparison.counter("gc_pauses"), ratio=PAUSES_RATIO, least=PAUSES))


def _objects_more(comparison: Comparison) -> bool:
    before, after = _objects(comparison)
    if before is None or after is None:
        return False
    return after >= OBJECTS_RATIO * before and after - before >= OBJECTS


def _thawed(comparison: Comparison) -> bool:
    """Whether objects that the collector was told to leave alone are its business again."""
    before, after = _both(comparison, "memory.gc_frozen")
    return before is not None and after is not None and before - after >= OBJECTS


def _objects(comparison: Comparison) -> tuple[float | None, float | None]:
    return _both(comparison, "memory.python_blocks")


def _both(comparison: Comparison, name: str) -> tuple[float | None, float | None]:
    return memory.at_end(comparison.before, name), memory.at_end(comparison.after, name)


def _why(comparison: Comparison) -> str:
    pauses = comparison.counter("gc_pauses")
    before, after = _objects(comparison)
    told = []
    if _pauses_oftener(comparison) and pauses is not None:
        told.append(f"{units.number(pauses.after or 0)} per step, {units.number(pauses.before or 0)} before")
    if _objects_more(comparison):
        told.append(f"{units.number(after or 0)} objects in memory, {units.number(before or 0)} before")
    if _thawed(comparison):
        told.append("objects are not frozen any more")
    return f" ({'; '.join(told)})" if told else ""


def _remedy(*, oftener: bool) -> str:
    if oftener:
        return (
            "Take gc.collect() out of the training loop and leave the thresholds as they were, or collect "
            "once an epoch with gc.disable() in between."
        )
    return "Call gc.freeze() after the load, and keep samples and histories in arrays, not as objects."


def _object_evidence(comparison: Comparison) -> tuple[Evidence, ...]:
    rows = zip(("before", "after"), _objects(comparison), strict=True)
    return tuple(
        Evidence(f"objects in memory, {side}", value, None, "agent")
        for side, value in rows
        if value is not None
    )
