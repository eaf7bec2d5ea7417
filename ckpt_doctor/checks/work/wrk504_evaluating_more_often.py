"""The resumed run evaluates more often, or on more batches, than before.

What it means
-------------
The interval between two evaluations came from another place than in the first run: a default, a count
that was in epochs and is now in steps, a config inside the checkpoint; or a limit on the batches of an
evaluation was not restored. The training itself is as fast as ever.

How it is measured
------------------
Batches that no backward pass followed, per step: ``GROWTH_RATIO`` times as many, in ``STEPS`` more steps than
the control's or by so many more in each evaluation, and the model was run on them: outside of the loader each
of them takes ``MODEL_RATIO`` of a training step or more. The cost is what steps with such batches take longer
than the same run's other steps, less what they do in the control.

How to fix it
-------------
Restore the interval of the evaluation, and the limit on its batches, with the rest of the run's settings.

When it is wrong
----------------
A window that is shorter than the interval sees one evaluation by chance, so two are needed. Batches that
are evaluated on without a ``DataLoader`` are not counted: then the lines that grew name the place. Batches
on which something else is computed, such as statistics of the data, look the same. Those that are thrown
away are DAT202.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, evaluating, leftover, loading
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

PARTS = ("data_wait", "forward", "rest")


def find(case: Case) -> Found | CannotTell | None:
    """Judge the batches of both windows that were not trained on."""
    comparison = case.comparison
    if comparison is None:
        return None
    if blame.factor(comparison.counter("batches")) is None:
        return CannotTell(blame.why_unknown(comparison, "batches"))
    found = evaluating.more(comparison)
    if found is None or not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, PARTS):
        return None
    cost_s = _cost_s(comparison, found)
    if blame.share_ratio(comparison, cost_s) < blame.MIN_SHARE:
        return None
    counts = len(found.before.steps), len(found.after.steps)
    lines = leftover.lines(comparison, cost_s)
    return Found(
        severity=Severity.ERROR,
        side=Side.WORK,
        summary=f"{units.number(found.after.batches)} batches per step were evaluated on "
        f"(before: {units.number(found.before.batches)}), in {counts[1]} of {comparison.after.steps} steps "
        f"(before: {counts[0]}), which costs {units.per_step(cost_s)}.",
        remedy="Restore the interval between two evaluations, and the limit on their batches, as they were "
        "in the first run.",
        evidence=(
            Evidence("batches per step without training, before", found.before.batches, None, "agent"),
            Evidence("batches per step without training, after", found.after.batches, None, "agent"),
            Evidence("time for them outside of the loader grew by", found.outside_s, "s/step", "agent"),
            Evidence("time for them in the loader grew by", found.waiting_s, "s/step", "agent"),
            *blame.line_evidence(lines),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
        location=blame.location_of(lines),
    )


def _cost_s(comparison: Comparison, found: evaluating.Evaluating) -> float:
    """Seconds per step; the wait for new workers is DAT204's."""
    waiting_s = 0.0 if loading.restarts_workers(comparison) else max(0.0, found.waiting_s)
    return min(comparison.delta_s, found.outside_s + waiting_s)
