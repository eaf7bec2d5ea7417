"""Something meant for debugging runs in the resumed run and not in the first one.

What it means
-------------
Somebody looked for a NaN, a slow kernel or a difference after the last crash, and what was switched on for
it stayed on in the branch that resumes: anomaly detection (a stack trace for every operation, a check of
every gradient), deterministic algorithms, torch's profiler or a Python one, graphs that are kept, forward or
backward hooks that were registered once before the load and once after it.

How it is measured
------------------
Backward passes per step under anomaly detection, under torch's profiler or with their graph kept: asked
for at each pass, since these are often regions that are over when a step ends; ``LEAST_PASSES`` more than in
the control. The fingerprints: hooks on the modules that are called, their parameters and all modules
together, ``LEAST_HOOKS`` more; deterministic algorithms, Python's tracing, debug variables of the
environment. An error where forward or backward (with profilers and deterministic algorithms every part that
computes) grew, with the time that no other rule explains. Without a slowdown it is only mentioned.

How to fix it
-------------
Take out the line that set it, or ask for it by an option that is off unless given; register hooks where the
model is built, and keep their handles.

When it is wrong
----------------
Hooks may be there for a purpose (statistics, freezing); then their number is the same on both sides.
``cudnn.benchmark``, deterministic algorithms and kept graphs cost nothing with some models, nor do a few more
hooks: where one of these is all that changed, the cause is called supported, not confirmed. Dispatch and
function modes that are entered for forward alone are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ckpt_doctor import units
from ckpt_doctor.checks import blame, leftover, training
from ckpt_doctor.facts.comparison import Comparison, CounterDelta, FingerprintChange
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Finding, Found, Severity, Side

PASSES = ("anomaly_backwards", "profiled_backwards", "retained_backwards")
LEAST_PASSES = 0.25
"""Growth of such passes per step: one in four steps is a habit, less is a check now and then."""
HOOKS = "modules.hooks"
LEAST_HOOKS = 1
"""Growth of the number of hooks: they are counted, not measured."""
ANOMALY = "autograd.anomaly"
DETERMINISTIC = ("backend.deterministic", "backend.cudnn_deterministic")
SWITCHED_ON = (ANOMALY, "autograd.profiler", *DETERMINISTIC)
SWITCHED_OFF = ("backend.cudnn_benchmark",)
TRACING = "python.tracing"
VARIABLES = ("env.CUDA_LAUNCH_BLOCKING", "env.PYTORCH_NO_CUDA_MEMORY_CACHING", "env.TORCH_DISTRIBUTED_DEBUG")
OFF = (None, "", "0", "OFF")
"""Values of a variable that mean that it is not set."""
WEAK = ("retained_backwards", *DETERMINISTIC, *SWITCHED_OFF)
"""What costs time with some models only."""
TWICE = 2.0
"""Hooks that were registered again are at least so many times as before; fewer may be harmless ones."""


class _Left(NamedTuple):
    """What is on in the resumed run alone."""

    passes: tuple[CounterDelta, ...]
    hooks: FingerprintChange | None
    settings: tuple[FingerprintChange, ...]


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | CannotTell | None:
    """Judge what is left on against the time of the parts that it slows down."""
    comparison = case.comparison
    if comparison is None:
        return None
    left = _left(comparison)
    if not any(left):
        unknown = not all(blame.is_known(comparison.counter(name)) for name in PASSES)
        return CannotTell(blame.why_unknown(comparison, "debug_modes")) if unknown else None
    everywhere = any(change.key != ANOMALY for change in left.settings)
    parts = (*blame.model_parts(comparison), *(("optimizer", "rest") if everywhere else ()))
    cost_s = blame.claim_s(comparison, findings, parts)
    effect = "no step is slower for it" if cost_s is None else f"that costs {units.per_step(cost_s)}"
    told = _told(left)
    lines = leftover.lines(comparison, cost_s) if cost_s is not None else ()
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The resumed run has something on for debugging ({', '.join(told[:3])}): {effect}.",
        remedy=f"Take out what the resumed run switches on and the first one did not: {told[0]}.",
        evidence=_evidence(left) + blame.part_evidence(comparison, parts) + blame.line_evidence(lines),
        confidence=_confidence(left, cost_s),
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
        location=blame.location_of(lines),
    )


def _left(comparison: Comparison) -> _Left:
    hooks = blame.change_of(comparison, HOOKS)
    counters = [counter for name in PASSES if (counter := comparison.counter(name)) is not None]
    return _Left(
        tuple(counter for counter in counters if (counter.delta or 0.0) >= LEAST_PASSES),
        hooks if hooks is not None and _more(hooks) >= LEAST_HOOKS else None,
        tuple(change for change in comparison.changes if _is_left_on(change)),
    )


def _more(change: FingerprintChange) -> float:
    return float(str(change.after)) - float(str(change.before))


def _is_left_on(change: FingerprintChange) -> bool:
    """Whether a setting of the resumed run is for debugging, and the control has it otherwise."""
    if change.key in SWITCHED_ON:
        return change.before is False and change.after is True
    if change.key in SWITCHED_OFF:
        return change.before is True and change.after is False
    if change.key == TRACING:
        return change.before == "" and bool(change.after)
    return change.key in VARIABLES and change.before in OFF and change.after not in OFF


def _confidence(left: _Left, cost_s: float | None) -> Confidence:
    if cost_s is None:
        return Confidence.SUSPECTED
    names = {*(counter.name for counter in left.passes), *(change.key for change in left.settings)}
    twice = left.hooks is not None and training.is_larger(left.hooks, TWICE)
    return Confidence.CONFIRMED if twice or names.difference(WEAK) else Confidence.SUPPORTED


def _told(left: _Left) -> list[str]:
    passes = [
        f"{counter.name.replace('_', ' ')} per step "
        f"{units.number(counter.before or 0.0)} -> {units.number(counter.after or 0.0)}"
        for counter in left.passes
    ]
    changes = (*((left.hooks,) if left.hooks is not None else ()), *left.settings)
    return passes + [f"{e.what} {e.value}" for e in blame.change_evidence(changes)]


def _evidence(left: _Left) -> tuple[Evidence, ...]:
    counted = tuple(e for counter in left.passes for e in blame.counter_evidence(counter, "agent"))
    changes = (*((left.hooks,) if left.hooks is not None else ()), *left.settings)
    return counted + blame.change_evidence(changes)
