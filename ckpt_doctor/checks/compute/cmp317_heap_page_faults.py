"""The two processes differ in how often the heap hands memory back to the kernel, not in their work.

What it means
-------------
glibc's threshold for memory that is mapped afresh moves with what a process has freed. So of two
identical processes one may get its activations from the kernel at every step, zeroed page by page, and
the other not. Identical code was measured to differ by -25 to +35 % for this reason alone. Loading a
checkpoint frees large blocks and can move the threshold, either way.

How it is measured
------------------
Minor faults per step rose by ``FAULTS_RATIO`` and ``FAULTS`` at least, and system time explains
``SHARE`` of what no other rule explains, at a plausible price per fault (``FAULT_S``). A warning, never
the resume's fault. Not said where both runs had fixed malloc thresholds.

How to fix it
-------------
Fix the thresholds (``MALLOC_MMAP_THRESHOLD_``, ``MALLOC_TRIM_THRESHOLD_``; ``--steady-heap`` sets them for
both arms), use jemalloc or tcmalloc, or reuse buffers.

When it is wrong
----------------
A resume that really allocates more per step has more faults too; with ``--steady-heap`` that stays, and
the lottery goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Finding, Found, Severity, Side

FAULTS_RATIO = 1.5
"""Growth of minor faults per step that counts: a heap that gives memory back multiplies them."""
FAULTS = 20.0
"""Least growth of minor faults per step: fewer cost microseconds."""
SHARE = 0.4
"""Part of the unexplained time that must be system time; the rest are pages cold in the caches."""
FAULT_S = (5e-8, 2e-5)
"""Seconds of system time that a minor fault can cost: from a mapped page to a zeroed huge page."""
LOTTERY_RATIO = 1.4
"""More than this the heap alone was never measured to cost."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | CannotTell | None:
    """Judge page faults against what the other rules leave."""
    comparison = case.comparison
    if comparison is None or blame.steady_heap(comparison):
        return None
    faults, system = comparison.counter("minor_faults"), comparison.counter("system_s")
    risen = blame.moved(faults, ratio=FAULTS_RATIO, least=FAULTS)
    if risen is None or faults is None or system is None or system.delta is None:
        return CannotTell(blame.why_unknown(comparison, "minor_faults", "system_s"))
    left_s = comparison.delta_s - blame.explained_s(comparison, findings)
    if not risen or left_s <= 0 or not blame.is_slower(comparison, proven=True):
        return None
    price_s = system.delta / (faults.delta or 1.0)
    if system.delta < SHARE * left_s or not FAULT_S[0] <= price_s <= FAULT_S[1]:
        return None
    # Zeroed pages are also cold in the caches: what the lottery can cost is its fault as a whole.
    within = 1.0 + left_s / comparison.before.step_s <= LOTTERY_RATIO
    cost_s = left_s if within else min(left_s, system.delta)
    return Found(
        severity=Severity.WARNING,
        side=Side.COMPUTE,
        summary=f"{units.seconds(cost_s)} per step go into page faults of the heap "
        f"({units.number(faults.after or 0)} "
        f"per step, {units.number(faults.before or 0)} before), in which identical processes differ too.",
        remedy="Measure with --steady-heap, or set MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ for "
        "both runs.",
        evidence=blame.counter_evidence(faults, "getrusage") + blame.counter_evidence(system, "getrusage"),
        confidence=Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )
