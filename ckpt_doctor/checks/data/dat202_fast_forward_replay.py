"""The resumed run gets to its place in the data by drawing batches and throwing them away.

What it means
-------------
The position in the epoch is restored by running the loader: every skipped sample is read, decoded
and collated. The time until the first step grows with the position. Where a skip count is never
cleared, every later epoch pays for it again.

How it is measured
------------------
Batches drawn before the first step ended, against what a fresh start of the same script drew; an
error from ``REPLAYED_BATCHES`` on. Their seconds are the first step's data wait, in proportion. In
the window: batches per step rose (``LASTING_RATIO``) while backward passes per step did not, and the
model was not run on them (else WRK504). Batches are counted as they reach the training loop, so what
workers prefetch is no replay.

How to fix it
-------------
Skip indices, not batches: a stateful loader or sampler (``StatefulDataLoader``,
``accelerate.skip_first_batches``), and clear the skip count after the first epoch.

When it is wrong
----------------
A script that validates once after a resume, before it trains, draws batches too. Replay inside worker
processes is not counted; it shows as a long wait for the first batch.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, evaluating, loading
from ckpt_doctor.facts.comparison import Comparison, Shape
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

REPLAYED_BATCHES = 10
"""More than a sanity check of validation draws, and far fewer than a position in an epoch."""
LASTING_RATIO = 1.2
"""Growth of batches per step that counts as a replay in the window."""
SAME_RATIO = 1.1
"""Backward passes per step that rose by no more than this are taken to be the same work."""
POSITION_TOLERANCE_RATIO = 0.1
"""A replay as long as the position in the run, within this, is proved to be one."""
REMEDY = (
    "Restore the loader's position by its state (StatefulDataLoader, the framework's own switch) or skip "
    "indices "
    "in the sampler instead of drawing batches."
)


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge what was drawn and dropped, before the first step and within the window."""
    comparison = case.comparison
    if comparison is None:
        return None
    drawn = (comparison.before_start.batches_drawn, comparison.after_start.batches_drawn)
    if drawn[1] is None:
        return CannotTell(blame.why_unknown(comparison, "batches"))
    found = (_once(comparison, drawn[0] or 0, drawn[1]), _lasting(comparison))
    return tuple(f for f in found if f is not None)


def _once(comparison: Comparison, before: int, after: int) -> Found | None:
    replayed = after - before
    if replayed < REPLAYED_BATCHES:
        return None
    cost_s = (comparison.after_start.fast_forward_s or 0.0) - (comparison.before_start.fast_forward_s or 0.0)
    per_batch_s = cost_s / replayed
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"{replayed} batches were drawn and dropped before the first step, which took "
        f"{units.seconds(cost_s)}; each further batch of progress adds {units.seconds(per_batch_s)} to a "
        "resume.",
        remedy=REMEDY,
        evidence=(
            Evidence("batches drawn before the first step ended, fresh start", before, None, "agent"),
            Evidence("batches drawn before the first step ended, resumed", after, None, "agent"),
            Evidence("time for the dropped batches", cost_s, "s", "agent"),
            Evidence("time per dropped batch", per_batch_s, "s", "agent"),
        ),
        confidence=Confidence.CONFIRMED if _fits_position(comparison, replayed) else Confidence.SUPPORTED,
        delta_s=cost_s,
        shape=Shape.ONE_TIME,
    )


def _fits_position(comparison: Comparison, replayed: int) -> bool:
    """Whether as many batches were dropped as the control had used at its save."""
    batches = comparison.counter("batches")
    used = comparison.before.origin * ((batches.before if batches else None) or 1.0)
    return used > 0 and abs(replayed - used) <= POSITION_TOLERANCE_RATIO * used + 1


def _lasting(comparison: Comparison) -> Found | None:
    batches = blame.factor(comparison.counter("batches"))
    backwards = blame.factor(comparison.counter("backwards"))
    if batches is None or batches < LASTING_RATIO or (backwards or 1.0) > SAME_RATIO:
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, ("data_wait",)):
        return None
    if evaluating.more(comparison) is not None:
        return None
    cost_s = loading.wait_s(comparison)
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"The loader is drawn from {batches:.2f} times as often per step, with no more training "
        "for it: "
        f"{units.per_step(cost_s)} go into batches that are thrown away.",
        remedy="Clear the skip count once the first epoch after the resume is over. " + REMEDY,
        evidence=blame.counter_evidence(comparison.counter("batches"), "agent")
        + blame.counter_evidence(comparison.counter("backwards"), "agent"),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )
