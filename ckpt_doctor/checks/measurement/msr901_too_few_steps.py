"""There are too few steps to compare.

What it means
-------------
The clock proves nothing with so few steps; only counts, bytes and settings do.

How it is measured
------------------
One of the windows has fewer than ``blame.MIN_STEPS`` steps after the warm-up, or, in a log that tells one
time for several steps, fewer than ``blame.MIN_ENTRIES`` entries.

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

NEEDS = ()
"""Steps can be counted in any evidence."""


def find(case: Case) -> Found | None:
    """Judge the length of both windows."""
    comparison = case.comparison
    few = None if comparison is None else blame.few_steps(comparison)
    if comparison is None or few is None:
        return None
    counts = (comparison.before.training_steps, comparison.after.training_steps)
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"{few[0].upper()}{few[1:]}.",
        remedy="Let the script run for more steps after its save.",
        evidence=(
            Evidence("compared steps, before", counts[0], None, "agent"),
            Evidence("compared steps, after", counts[1], None, "agent"),
        ),
        confidence=Confidence.CONFIRMED,
    )
