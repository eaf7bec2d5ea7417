"""The resumed run trains more parameters than the first one: backward and the optimizer have more to do.

What it means
-------------
Layers were frozen in the branch that starts a new run, and not in the one that resumes; an adapter was
loaded beside a base model that is no longer frozen; a group was added with parameters that had none; a
table whose gradients were sparse, the rows of a batch, now gets dense ones, all its rows.

How it is measured
------------------
The fingerprints: elements of the model's parameters that hold a dense gradient at the end of a step, or
that an optimizer updates, rose by ``training.GROWTH_RATIO``; and backward or the optimizer grew. The
model is what the first steps call, each parameter once. Where that is not known (compiled code), the
parameters in the optimizers stand for it, and then backward itself must have grown. The cost is what
backward and the optimizer grew by, less what other rules explain: more passes per step (WRK501) are
counted first, because a factor tells how much they cost. Without a slowdown it is only mentioned.

How to fix it
-------------
Freeze (``requires_grad_(False)``) before the optimizer is built, in both branches; build the groups in
one place.

When it is wrong
----------------
Layers may be thawed by a schedule that would have thawed them in the first run too, a few steps later. The
same parameters listed twice, or ones that belong to no module any more, are no more of the model: that is
CMP305, which leaves a state that only follows its parameters to this rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, training
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
from ckpt_doctor.facts.report import Case, Confidence, Finding, Found, Severity, Side

PARTS = ("backward", "optimizer")


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge what is trained against the time of backward and the optimizer."""
    comparison = case.comparison
    if comparison is None:
        return None
    gradients, optimized = training.more_gradients(comparison), training.more_optimized(comparison)
    changes = tuple(change for change in (gradients, optimized) if change is not None)
    if not changes or (gradients is not None and _is_listed_only(comparison, gradients)):
        return None
    parts = PARTS if gradients is not None else PARTS[1:]
    cost_s = blame.claim_s(comparison, findings, parts)
    effect = "no step is slower for it" if cost_s is None else f"that costs {units.per_step(cost_s)}"
    layouts = tuple(c for c in comparison.changes if c.key == "modules.gradient_layouts")
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The resumed run trains more of the model ({_told(changes[0])}): {effect}.",
        remedy="Freeze what was frozen before the optimizer is built, and build the parameter groups as in "
        "the first run.",
        evidence=blame.change_evidence(changes + layouts) + blame.part_evidence(comparison, parts),
        confidence=Confidence.SUSPECTED if cost_s is None else Confidence.CONFIRMED,
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )


def _is_listed_only(comparison: Comparison, change: FingerprintChange) -> bool:
    """Whether the optimizers hold more parameters, and backward does not reach them."""
    return change.key == training.LISTED and not blame.grew(comparison, PARTS[:1])


def _told(change: FingerprintChange) -> str:
    what = "with gradients" if change.key == training.GRADIENTS else "trained"
    before, after = (units.number(float(str(value))) for value in (change.before, change.after))
    return f"{before} -> {after} elements {what}"
