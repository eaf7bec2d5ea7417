"""The resumed run's loader has other arguments: fewer workers, less prefetching, no pinned memory.

What it means
-------------
The arguments came from another place than in the first run: a default, a smaller machine's count of
CPUs, or values frozen inside the checkpoint that win over the command line. The workers live, but they
deliver too little at a time.

How it is measured
------------------
The fingerprints differ in the training loader's arguments (``loading.FEWER`` went down or
``loading.OTHER`` changed) and data wait grew. Without a slowdown it is only mentioned.

How to fix it
-------------
Pass the arguments on resume as in the first run; do not store them in the checkpoint.

When it is wrong
----------------
A changed batch size also changes the work of a step (WRK501 tells that). Where data wait grew for
another reason at the same time, the two cannot be told apart here.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.report import Case, Confidence, Found, Severity, Side


def find(case: Case) -> Found | None:
    """Judge the loader's arguments."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = loading.poorer_arguments(comparison)
    if not changes:
        return None
    told = ", ".join(f"{c.key.rpartition('.')[2]} {c.before} -> {c.after}" for c in changes)
    earlier = ", ".join(f"{c.key.rpartition('.')[2]}={c.before}" for c in changes)
    slower = blame.is_slower(comparison, proven=True) and blame.grew(comparison, ("data_wait",))
    cost_s = blame.growth_s(comparison, ("data_wait",)) if slower else None
    if cost_s is not None and loading.restarts_workers(comparison):
        cost_s = max(0.0, cost_s - loading.restart_s(comparison))
    effect = (
        f"each step waits {units.seconds(cost_s)} longer for data"
        if cost_s is not None
        else "no step is slower by enough to tell"
    )
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.DATA,
        summary=f"The loader's arguments changed ({told}): {effect}.",
        remedy=f"Pass the loader's arguments on resume as in the first run: {earlier}.",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, ("data_wait",)),
        confidence=Confidence.CONFIRMED if cost_s is not None else Confidence.SUSPECTED,
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )
