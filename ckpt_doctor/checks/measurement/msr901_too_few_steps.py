"""There are too few steps to compare.

What it means
-------------
The clock proves nothing with so few steps; only counts, bytes and settings do.

How it is measured
------------------
One of the windows has fewer than ``blame.MIN_STEPS`` steps after the warm-up.

How to fix it
-------------
Let the script run for more steps after its save, or give the probe more time (``--steps``, ``--budget``).

When it is wrong
----------------
Steps that take minutes may differ so clearly that a handful would do; the interval tells.
"""

from __future__ import annotations

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side


def find(case: Case) -> Found | None:
    """Judge the length of both windows."""
    comparison = case.comparison
    if comparison is None or not blame.too_few_steps(comparison):
        return None
    counts = (comparison.before.steps, comparison.after.steps)
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"Only {min(counts)} steps could be compared; {blame.MIN_STEPS} are needed.",
        remedy="Let the script run for more steps after its save.",
        evidence=(
            Evidence("compared steps, before", counts[0], None, "agent"),
            Evidence("compared steps, after", counts[1], None, "agent"),
        ),
        confidence=Confidence.CONFIRMED,
    )
