"""Each step of the resumed run does more work than the control's.

What it means
-------------
Larger batches, longer samples, more micro-batches or more optimizer updates per step: a schedule, a
sampler, a sequence length or an accumulation count came back other than it was. The time per unit of
work may be the same as ever.

How it is measured
------------------
Elements, backward passes or optimizer updates per step rose by ``WORK_RATIO``, and the parts of the
step that do this work grew. Where no loader counts elements, those of the model's input stand for
them. The cost is what that factor would add to these parts, at most what they grew by. Batches that
are drawn without training on them are DAT202, or WRK504 where the model is run on them.

How to fix it
-------------
Restore the schedule (batch size, sequence length, accumulation) with the checkpoint.

When it is wrong
----------------
Samples of varying length make elements per step vary: a short window can meet long ones by chance, if
the data order was not restored. Small models do more work in nearly the same time: then the parts do not
grow, and nothing is reported.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, evaluating
from ckpt_doctor.facts.comparison import Comparison, CounterDelta
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Found, Severity, Side

WORK_RATIO = 1.1
"""Growth of work per step that counts; samples of varying length differ by some percent."""
BATCH_PARTS = ("data_wait", "forward", "backward", "rest")
UPDATE_PARTS = ("optimizer",)
COUNTERS = (
    ("backwards", BATCH_PARTS),
    ("elements", BATCH_PARTS),
    ("input_elements", BATCH_PARTS),
    ("multiply_adds", BATCH_PARTS),
    ("optimizer_steps", UPDATE_PARTS),
)
EVALUATED = ("elements", "input_elements", "multiply_adds")


NEEDS = ()
"""Any counter of work is enough."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge the work of a step."""
    comparison = case.comparison
    if comparison is None:
        return None
    known = [blame.factor(comparison.counter(name)) for name, _ in COUNTERS]
    if all(factor is None for factor in known):
        return CannotTell(blame.why_unknown(comparison, "elements", "backwards"))
    more = [(n, f, parts) for (n, parts), f in zip(COUNTERS, known, strict=True) if f and f >= WORK_RATIO]
    more = [row for row in more if not _is_untrained(comparison, row[0])]
    if not more or not blame.is_slower(comparison, proven=True):
        return None
    cost_s = _cost_s(comparison, [(factor, parts) for _, factor, parts in more])
    if blame.share_ratio(comparison, cost_s) < blame.MIN_SHARE:
        return None
    counters = [counter for name, *_ in more if (counter := comparison.counter(name)) is not None]
    told = ", ".join(_told(counter) for counter in counters)
    return Found(
        severity=Severity.ERROR,
        side=Side.WORK,
        summary=f"Each step does more work than before ({told}), which costs {units.per_step(cost_s)}.",
        remedy="Restore batch size, sequence length, accumulation and update schedule as they were at "
        "the save.",
        evidence=tuple(e for c in counters for e in blame.counter_evidence(c, "agent"))
        + blame.part_evidence(comparison, BATCH_PARTS + UPDATE_PARTS),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )


def _is_untrained(comparison: Comparison, name: str) -> bool:
    """Whether data rose only for batches that nothing is trained on: thrown away, or evaluated on."""
    batches = blame.factor(comparison.counter("batches"))
    backwards = blame.factor(comparison.counter("backwards"))
    if backwards is None or backwards >= WORK_RATIO:
        return False
    if name in EVALUATED and evaluating.more(comparison) is not None:
        return True
    return name == "elements" and (batches or 1.0) >= WORK_RATIO


def _cost_s(comparison: Comparison, work: list[tuple[float, tuple[str, ...]]]) -> float:
    """What the largest factor of each group of parts would add to it, at most its growth."""
    cost_s = 0.0
    for parts in {parts for _, parts in work}:
        factor = max(f for f, own in work if own == parts)
        grown_s = max(0.0, blame.growth_s(comparison, parts))
        cost_s += min(grown_s, (factor - 1.0) * blame.before_s(comparison, parts))
    return cost_s


def _told(counter: CounterDelta) -> str:
    name = counter.name.replace("_", " ")
    return f"{name} {units.number(counter.before or 0.0)} -> {units.number(counter.after or 0.0)}"
