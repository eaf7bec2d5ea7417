"""The optimizer takes a slower path after the resume, though its state is the same.

What it means
-------------
``load_state_dict`` brings back the options of the saved groups: ``foreach=False`` or ``fused=None`` from
an older run replace what the script has just set, ``amsgrad`` or ``differentiable`` add work. Or another
optimizer class was built.

How it is measured
------------------
The fingerprints differ in ``FLAGS`` or in the optimizer's class, and the optimizer part of the step
grew. Without a slowdown it is only mentioned.

How to fix it
-------------
Set the options after ``load_state_dict``: ``for group in optimizer.param_groups: group["foreach"] = True``.

When it is wrong
----------------
``foreach`` matters little on a CPU and for few parameters: then the optimizer part does not grow, and
the flag is not blamed. Where the state grew too, CMP305 names it, and the two share the time.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
from ckpt_doctor.facts.report import Case, Confidence, Found, Severity, Side

FLAGS = ("foreach", "fused", "capturable", "amsgrad", "differentiable")
CLASS = ("class",)


def find(case: Case) -> Found | None:
    """Judge the optimizer's options against its time."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = _changes(comparison)
    if not changes:
        return None
    slower = blame.is_slower(comparison, proven=True) and blame.grew(comparison, ("optimizer",))
    cost_s = blame.growth_s(comparison, ("optimizer",)) if slower else None
    told = ", ".join(sorted({f"{c.key.rpartition('.')[2]} {c.before} -> {c.after}" for c in changes}))
    effect = (
        "no step is slower for it" if cost_s is None else f"its step takes {units.seconds(cost_s)} longer"
    )
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The optimizer's options changed by the resume ({told}): {effect}.",
        remedy="Set the options in optimizer.param_groups after load_state_dict, which brings back the "
        "saved ones.",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, ("optimizer",)),
        confidence=Confidence.SUSPECTED if cost_s is None else Confidence.CONFIRMED,
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )


def _changes(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    """Options that differ; a fast path that is merely undecided (None) on one side counts too."""
    keyed = [c for c in comparison.changes if c.key.startswith("optimizer.")]
    flags = [
        c
        for c in keyed
        if ".group." in c.key and c.key.rpartition(".")[2] in FLAGS and _same_group(comparison, c)
    ]
    return (*flags, *blame.changes_of(comparison, "optimizer.", CLASS))


def _same_group(comparison: Comparison, change: FingerprintChange) -> bool:
    """Whether both runs have the group: the options of an added group are no change of options."""
    prefix = change.key.rpartition(".")[0] + "."
    return all(
        any(key.startswith(prefix) for key in window.rank.fingerprints[-1].values)
        for window in (comparison.before, comparison.after)
        if window.rank.fingerprints
    )
