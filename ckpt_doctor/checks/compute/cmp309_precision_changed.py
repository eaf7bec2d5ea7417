"""The resumed run computes in another number format, or in another memory format, than the first one.

What it means
-------------
Mixed precision is set up in the branch that starts a new run and not in the one that resumes; the weights
came back in another type (float64 out of numpy or a default dtype, float32 for a frozen half-precision
base) and were put in the place of the old ones; a new process has not asked for TF32 or bfloat16 matmuls;
``channels_last`` was lost. Every kernel is another one then.

How it is measured
------------------
Regions of ``torch.autocast`` entered per step, by type: at most ``LOST_RATIO`` of the other side's, per step
and per backward pass. The fingerprints: the part that a type has of the parameters' elements moved by
``TYPE_SHARE``, for those that are trained or for all of the modules that are called; the default dtype; the
matmul precision rose; TF32 was switched off; no parameter is in ``channels_last`` any more. An error where
forward or backward grew (or, for the parameters' type, the optimizer), with the time that no other rule
explains. Without a slowdown it is only mentioned.

How to fix it
-------------
Set precision in one place for both branches, before the model is built; load weights in place
(``load_state_dict`` without ``assign``), which keeps types and memory formats.

When it is wrong
----------------
Which format is faster depends on the hardware: bfloat16 without instructions for it is slower than float32,
so either direction may be the slower one. The matmul precision, TF32 and ``channels_last`` matter for some
kernels only: where one of them is all that changed, the cause is called supported, not confirmed. Libraries
that cast by themselves (apex, FSDP's mixed precision) are seen by their parameters only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, CounterDelta, FingerprintChange
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Finding, Found, Severity, Side

AUTOCAST = ("autocast_bfloat16", "autocast_float16")
TYPES = ("model.dtypes", "modules.dtypes")
DEFAULT_TYPE = "default_dtype"
PRECISIONS = (
    "backend.matmul_precision",
    "backend.cuda_matmul_precision",
    "backend.mkldnn_matmul_precision",
)
TF32 = "backend.cudnn_allow_tf32"
CHANNELS_LAST = "modules.channels_last"
LOST_RATIO = 0.6
"""Regions per step over those of the other side: one of two that are entered each step may be lost."""
LEAST_REGIONS = 0.25
"""Regions per step on the side that has more: fewer belong to something that is not done in each step."""
TYPE_SHARE = 0.2
"""Part of the parameters' elements: norms and heads are kept in a wider type than the rest."""
EXACTNESS: Mapping[object, int] = {
    **dict.fromkeys(("bf16", "medium"), 0),
    **dict.fromkeys(("tf32", "high"), 1),
    **dict.fromkeys(("none", "ieee", "highest"), 2),
}
"""Order of the names of precisions; the more exact one is the slower one. Unset means exact."""


class _Moved(NamedTuple):
    """What differs."""

    regions: tuple[CounterDelta, ...]
    types: tuple[FingerprintChange, ...]
    switches: tuple[FingerprintChange, ...]
    """Settings that matter for some kernels only."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | CannotTell | None:
    """Judge number and memory formats against the time of the model."""
    comparison = case.comparison
    if comparison is None:
        return None
    moved = _moved(comparison)
    if not any(moved):
        unknown = not all(blame.is_known(comparison.counter(name)) for name in AUTOCAST)
        return CannotTell(blame.why_unknown(comparison, "autocast")) if unknown else None
    parts = blame.model_parts(comparison) + (("optimizer",) if moved.types else ())
    cost_s = blame.claim_s(comparison, findings, parts)
    effect = "no step is slower for it" if cost_s is None else f"that costs {units.per_step(cost_s)}"
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The precision changed by the resume ({', '.join(_told(moved)[:3])}): {effect}.",
        remedy="Set the precision (autocast, dtypes, matmul precision, memory format) in one place that a "
        "resumed run passes too: " + _told(moved)[0] + ".",
        evidence=_evidence(moved) + blame.part_evidence(comparison, parts),
        confidence=_confidence(moved, cost_s),
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )


def _moved(comparison: Comparison) -> _Moved:
    regions = [counter for name in AUTOCAST if (counter := comparison.counter(name)) is not None]
    types = [change for key in TYPES if (change := blame.change_of(comparison, key)) is not None]
    default = blame.change_of(comparison, DEFAULT_TYPE)
    switches = [blame.change_of(comparison, key) for key in (*PRECISIONS, TF32, CHANNELS_LAST)]
    return _Moved(
        tuple(counter for counter in regions if _regions_moved(comparison, counter)),
        (*(c for c in types if _share_moved(c)), *((default,) if default is not None else ())),
        tuple(change for change in switches if change is not None and _is_slower(change)),
    )


def _regions_moved(comparison: Comparison, counter: CounterDelta) -> bool:
    """Whether regions came or went, beyond what more or fewer passes per step bring with them."""
    passes = comparison.counter("backwards")
    if counter.before is None or counter.after is None or passes is None:
        return False
    if max(counter.before, counter.after) < LEAST_REGIONS or not passes.before or not passes.after:
        return False
    per_pass = (counter.before / passes.before, counter.after / passes.after)
    return all(min(pair) <= LOST_RATIO * max(pair) for pair in ((counter.before, counter.after), per_pass))


def _share_moved(change: FingerprintChange) -> bool:
    before, after = _shares(change.before), _shares(change.after)
    if not before or not after:
        return False
    names = before.keys() | after.keys()
    return any(abs(before.get(name, 0.0) - after.get(name, 0.0)) >= TYPE_SHARE for name in names)


def _shares(listed: object) -> dict[str, float]:
    """Part of the elements by type, from ``bfloat16:3,float32:9``."""
    counts = {name: int(n) for name, _, n in (word.partition(":") for word in str(listed).split(",") if word)}
    whole = sum(counts.values())
    return {name: n / whole for name, n in counts.items()} if whole else {}


def _is_slower(change: FingerprintChange) -> bool:
    """Whether a switch went from its faster to its slower place."""
    if change.key == CHANNELS_LAST:
        return bool(change.before) and not change.after
    if change.key == TF32:
        return change.before is True and change.after is False
    before, after = EXACTNESS.get(change.before), EXACTNESS.get(change.after)
    return before is not None and after is not None and after > before


def _confidence(moved: _Moved, cost_s: float | None) -> Confidence:
    if cost_s is None:
        return Confidence.SUSPECTED
    return Confidence.CONFIRMED if moved.regions or moved.types else Confidence.SUPPORTED


def _told(moved: _Moved) -> list[str]:
    regions = [
        f"{counter.name.replace('_', ' ')} regions per step "
        f"{units.number(counter.before or 0.0)} -> {units.number(counter.after or 0.0)}"
        for counter in moved.regions
    ]
    return regions + [f"{c.key} {c.before} -> {c.after}" for c in (*moved.types, *moved.switches)]


def _evidence(moved: _Moved) -> tuple[Evidence, ...]:
    counted = tuple(e for counter in moved.regions for e in blame.counter_evidence(counter, "agent"))
    return counted + blame.change_evidence((*moved.types, *moved.switches))
