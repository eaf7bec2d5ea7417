"""The resumed run compiles from scratch what the control took from its compile cache.

What it means
-------------
TorchInductor keeps compiled code on disk. After a resume on another machine, in a fresh container or
with another cache folder, nothing is found and everything is compiled in full: seconds to many minutes
until the first step.

How it is measured
------------------
Cache misses and hits of the compilations until the first step of the window, and their seconds. An
error where the resumed run missed and the control hit, or the cache folder's setting changed, and
compilation took ``blame.ONE_TIME_S`` more and ``blame.ONE_TIME_RATIO`` times as long (after a control that
was cold itself: ``blame.ONE_TIME_S`` at all). A warning where both missed: the control had just compiled
the same code, and the resumed run found none of it.

How to fix it
-------------
Keep ``TORCHINDUCTOR_CACHE_DIR`` on storage that outlives the job, or save
``torch.compiler.save_cache_artifacts()`` with the checkpoint and load it before the first step.

When it is wrong
----------------
Graphs that inductor cannot cache count neither as hits nor as misses. Where the resumed run compiles
other shapes first, its misses are not the cache's fault.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import FingerprintChange, Shape, Window
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

FOLDER_KEYS = ("env.TORCHINDUCTOR_CACHE_DIR", "env.TORCHINDUCTOR_FORCE_DISABLE_CACHES")
"""Settings that decide where compiled code is looked for."""


@dataclass(frozen=True)
class _Start:
    """The compilations until the window."""

    count: int
    seconds: float
    hits: int | None
    misses: int | None


def find(case: Case) -> Found | CannotTell | None:
    """Judge what both processes compiled until their window."""
    comparison = case.comparison
    if comparison is None:
        return None
    if "compile" in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, "compile"))
    before, after = _start(comparison.before), _start(comparison.after)
    if not after.count or not before.count:
        return None
    if after.misses is None or before.hits is None:
        return CannotTell("the compilations do not say whether they came from a cache")
    extra_s = after.seconds - before.seconds
    moved = tuple(c for c in comparison.changes if c.key in FOLDER_KEYS)
    missed = after.misses > 0 and after.misses > (after.hits or 0)
    if not missed:
        return None
    if before.hits > (before.misses or 0):
        slow = extra_s >= blame.ONE_TIME_S and after.seconds >= blame.ONE_TIME_RATIO * before.seconds
        return _found(Severity.ERROR, Confidence.CONFIRMED, before, after, moved, extra_s) if slow else None
    if after.seconds < blame.ONE_TIME_S or after.hits:
        return None
    severity = Severity.ERROR if moved else Severity.WARNING
    sure = Confidence.SUPPORTED if moved else Confidence.SUSPECTED
    return _found(severity, sure, before, after, moved, max(0.0, extra_s))


def _start(window: Window) -> _Start:
    events = [event for event in window.rank.events_of("compile") if event.step < window.first]
    hits = [value for e in events if isinstance(value := e.fields.get("cache_hits"), int)]
    misses = [value for e in events if isinstance(value := e.fields.get("cache_misses"), int)]
    told = bool(hits or misses)
    seconds = math.fsum(event.duration_s or 0.0 for event in events)
    return _Start(len(events), seconds, sum(hits) if told else None, sum(misses) if told else None)


def _found(
    severity: Severity,
    confidence: Confidence,
    before: _Start,
    after: _Start,
    moved: tuple[FingerprintChange, ...],
    cost_s: float,
) -> Found:
    return Found(
        severity=severity,
        side=Side.COMPUTE,
        summary=f"Compiling took {units.seconds(after.seconds)} at the resume "
        f"({units.seconds(before.seconds)} in the "
        f"first run): {after.misses} cache misses and {after.hits} hits "
        f"(before: {before.misses} misses, {before.hits} hits).",
        remedy="Keep TORCHINDUCTOR_CACHE_DIR on storage that outlives the job, or load what "
        "torch.compiler.save_cache_artifacts() saved with the checkpoint.",
        evidence=(
            Evidence("cache hits, before", before.hits, None, "dynamo"),
            Evidence("cache misses, before", before.misses, None, "dynamo"),
            Evidence("cache hits, after", after.hits, None, "dynamo"),
            Evidence("cache misses, after", after.misses, None, "dynamo"),
            Evidence("compilation, before", before.seconds, "s", "agent"),
            Evidence("compilation, after", after.seconds, "s", "agent"),
            *blame.change_evidence(moved),
        ),
        confidence=confidence,
        delta_s=cost_s,
        shape=Shape.ONE_TIME,
    )
