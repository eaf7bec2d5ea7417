"""The resumed run may use fewer CPUs, or uses fewer threads.

What it means
-------------
The launcher bound the process to fewer cores, the container has a smaller quota, or a thread count
(``OMP_NUM_THREADS``, ``torch.set_num_threads``) was not set again. Everything gets slower at once.

How it is measured
------------------
The fingerprints: CPUs that the process may use, intra-op threads, ``OMP_NUM_THREADS`` or
``MKL_NUM_THREADS`` went down, and the step grew. Without a slowdown it is only mentioned.

How to fix it
-------------
Give the resumed job the cores that the first one had; set the thread count in the script or the
environment of both.

When it is wrong
----------------
Fewer threads can be faster on a busy machine. A quota that throttles without changing the affinity is
not seen here.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
from ckpt_doctor.facts.report import Case, Confidence, Found, Severity, Side

KEYS = ("cpus.allowed", "threads.intra_op", "env.OMP_NUM_THREADS", "env.MKL_NUM_THREADS")


def find(case: Case) -> Found | None:
    """Judge CPUs and threads."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = tuple(c for c in comparison.changes if c.key in KEYS and _is_fewer(c))
    if not changes:
        return None
    slower = blame.is_slower(comparison, proven=True)
    told = ", ".join(f"{change.key} {change.before} -> {change.after}" for change in changes)
    cost_s = comparison.delta_s if slower else None
    effect = (
        "no step is slower for it" if cost_s is None else f"each step takes {units.seconds(cost_s)} longer"
    )
    return Found(
        severity=Severity.ERROR if slower else Severity.INFO,
        side=Side.HOST,
        summary=f"The resumed run has fewer CPUs or threads ({told}): {effect}.",
        remedy="Start the resumed run with the CPUs and thread count of the first one: " + told + ".",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, _parts(comparison)),
        confidence=Confidence.CONFIRMED if slower else Confidence.SUSPECTED,
        share_ratio=blame.share_ratio(comparison, cost_s) if cost_s is not None else None,
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison) if slower else None,
    )


def _parts(comparison: Comparison) -> tuple[str, ...]:
    return tuple(part.part for part in comparison.budget)


def _is_fewer(change: FingerprintChange) -> bool:
    try:
        return int(str(change.after)) < int(str(change.before))
    except ValueError:
        return False
