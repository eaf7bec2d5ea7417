"""The resumed run may use fewer CPUs, or uses fewer threads.

What it means
-------------
The launcher bound the process to fewer cores, the container has a smaller quota, or a thread count
(``OMP_NUM_THREADS``, ``torch.set_num_threads``) was not set again. Everything gets slower at once.

How it is measured
------------------
The fingerprints: CPUs that the process may use, intra-op threads, ``OMP_NUM_THREADS`` or
``MKL_NUM_THREADS`` went down, and the step grew. It gets what no other rule explains of the slowdown.
Without a slowdown it is only mentioned.

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

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.report import Case, Confidence, Finding, Found, Severity, Side
from ckpt_doctor.facts.run import PARTS


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge CPUs and threads."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = blame.fewer_cpus(comparison)
    if not changes:
        return None
    left_s = comparison.delta_s - blame.explained_s(comparison, findings)
    slower = (
        blame.is_slower(comparison, proven=True) and blame.share_ratio(comparison, left_s) >= blame.MIN_SHARE
    )
    told = ", ".join(f"{change.key} {change.before} -> {change.after}" for change in changes)
    cost_s = left_s if slower else None
    effect = (
        "no step is slower for it" if cost_s is None else f"each step takes {units.seconds(cost_s)} longer"
    )
    return Found(
        severity=Severity.ERROR if slower else Severity.INFO,
        side=Side.HOST,
        summary=f"The resumed run has fewer CPUs or threads ({told}): {effect}.",
        remedy="Start the resumed run with the CPUs and thread count of the first one: " + told + ".",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, PARTS),
        confidence=Confidence.CONFIRMED if slower else Confidence.SUSPECTED,
        share_ratio=blame.share_ratio(comparison, cost_s) if cost_s is not None else None,
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison) if slower else None,
    )
