"""The optimizer's state became larger by the resume, and its step slower.

What it means
-------------
The load brought the state back in a wider type (float64 out of numpy or a default dtype), with entries
of parameters that the optimizer does not have, or with groups that list the same parameters twice.
Every optimizer step then moves more bytes, or does its work twice.

How it is measured
------------------
The fingerprints: state bytes, elements or entries, parameters or groups rose by
``training.GROWTH_RATIO`` more than the trained part of the model did, and the optimizer part of the step
grew.

How to fix it
-------------
Cast the state to the parameters' type after the load; build the groups before the load, and only once.

When it is wrong
----------------
A state that grew as its parameters did is not blamed: more trained parameters are CMP308, wider ones
CMP309. A state that is wider on purpose (float32 moments of half-precision parameters) is wide on both
sides. A control that is seen before its first optimizer step has no state yet.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, training
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
from ckpt_doctor.facts.report import Case, Confidence, Found, Severity, Side

SIZES = ("state_bytes", "state_elements", "state_entries", "parameters", "groups")
TYPES = ("state_dtypes",)


def find(case: Case) -> Found | None:
    """Judge the optimizer's state against its time."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = _grown(comparison)
    if not changes or not blame.grew(comparison, ("optimizer",)):
        return None
    if not blame.is_slower(comparison, proven=True):
        return None
    cost_s = blame.growth_s(comparison, ("optimizer",))
    told = ", ".join(_told(change) for change in changes[:3])
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The optimizer's state grew by the resume ({told}), and its step takes "
        f"{units.seconds(cost_s)} longer.",
        remedy="After load_state_dict, cast the state to the parameters' dtype and drop what belongs to "
        "no parameter; "
        "add parameter groups once, before the load.",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, ("optimizer",)),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )


def _grown(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    least_ratio = training.GROWTH_RATIO * training.growth_ratio(comparison)
    sizes = [
        c for c in blame.changes_of(comparison, "optimizer.", SIZES) if training.is_larger(c, least_ratio)
    ]
    types = blame.changes_of(comparison, "optimizer.", TYPES) if sizes else ()
    return (*sizes, *types)


def _told(change: FingerprintChange) -> str:
    name = change.key.rpartition(".")[2]
    if name == "state_bytes" and isinstance(change.before, int) and isinstance(change.after, int):
        return f"{units.size(change.before)} -> {units.size(change.after)}"
    return f"{name.replace('_', ' ')} {change.before} -> {change.after}"
