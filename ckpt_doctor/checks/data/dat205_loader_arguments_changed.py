"""The resumed run's loader has other arguments: fewer workers, less prefetching, no pinned memory.

What it means
-------------
The arguments came from another place than in the first run: a default, a smaller machine's count of
CPUs, or values frozen inside the checkpoint that win over the command line. The workers live, but they
deliver too little at a time.

How it is measured
------------------
The fingerprints differ in the training loader's arguments (``loading.FEWER`` went down or
``loading.OTHER`` changed) and data wait grew. Without a slowdown it is only mentioned. The cost is that
growth, at most what the whole step grew by. Larger batches take longer to load, too: that much of it is
WRK501's, and all of it where the batch size alone changed.

How to fix it
-------------
Pass the arguments on resume as in the first run; do not store them in the checkpoint.

When it is wrong
----------------
Where data wait grew for another reason at the same time, the two cannot be told apart here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
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
    cost_s = _cost_s(comparison, changes)
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.DATA,
        summary=f"The loader's arguments changed ({told}): {_effect(comparison, cost_s)}.",
        remedy=f"Pass the loader's arguments on resume as in the first run: {earlier}.",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, ("data_wait",)),
        confidence=Confidence.CONFIRMED if cost_s is not None else Confidence.SUSPECTED,
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )


def _cost_s(comparison: Comparison, changes: Sequence[FingerprintChange]) -> float | None:
    """Seconds per step that the arguments cost; None where they make no step slower than its work does."""
    factor = loading.works_more(comparison)
    if factor > 1.0 and all(change.key.endswith(".batch_size") for change in changes):
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, ("data_wait",)):
        return None
    cost_s = loading.wait_s(comparison) - (factor - 1.0) * blame.before_s(comparison, ("data_wait",))
    if loading.restarts_workers(comparison):
        cost_s -= loading.restart_s(comparison)
    return max(0.0, cost_s)


def _effect(comparison: Comparison, cost_s: float | None) -> str:
    if cost_s is not None:
        return f"each step takes {units.seconds(cost_s)} longer, waiting for data"
    if loading.works_more(comparison) > 1.0:
        return "no step is slower for more than the work that it does"
    return "no step is slower by enough to tell"
