"""The step times vary so much that a large slowdown could hide in them.

What it means
-------------
The interval is too wide to call the runs equally fast, or to call them different.

How it is measured
------------------
The slowdown that these steps would show with a power of 80 % is above ``blame.MAX_DETECTABLE_RATIO``,
they show none, no other rule has found a cause of one, and the interval reaches beyond
``blame.MAX_HIDDEN_RATIO``.

How to fix it
-------------
More steps, a quieter machine, one thread (``--threads 1``), fixed malloc thresholds (``--steady-heap``).

When it is wrong
----------------
Stalls once an epoch are part of the script's work and make its steps vary; a window over several
epochs averages them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Finding, Found, Severity, Side

NEEDS = ()
"""The clock is enough."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge what these steps could have shown, where nothing is shown to make them slower."""
    comparison = case.comparison
    if comparison is None or not blame.too_noisy(comparison):
        return None
    if blame.is_slower(comparison, proven=False) or any(map(blame.explains, findings)):
        return None
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary="The step times vary so much that only a slowdown above "
        f"{units.ratio(comparison.detectable_ratio)} "
        "would show.",
        remedy="Measure more steps, on a quieter machine, with --threads 1 and --steady-heap.",
        evidence=(
            Evidence("smallest slowdown that would show", comparison.detectable_ratio, "ratio", "agent"),
            Evidence("interval, low", comparison.ratio.low, "ratio", "agent"),
            Evidence("interval, high", comparison.ratio.high, "ratio", "agent"),
        ),
        confidence=Confidence.CONFIRMED,
    )
