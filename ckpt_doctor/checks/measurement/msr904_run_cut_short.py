"""A recording was cut short.

What it means
-------------
The run was killed, or crashed, before its recording was closed. What was written until then is used.

How it is measured
------------------
The recording has no trailer, or its command ended by itself with an error code.

How to fix it
-------------
Look at the script's own output for the reason; record again.

When it is wrong
----------------
A recording that is still being written has no trailer either.
"""

from __future__ import annotations

from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side
from ckpt_doctor.facts.run import RunRecord

NEEDS = ()
"""How a run ended is known of recordings only, and no other evidence is called cut short."""


def find(case: Case) -> tuple[Found, ...]:
    """Judge how both runs ended."""
    comparison = case.comparison
    if comparison is None:
        return ()
    sides = (("before", comparison.before.run), ("after", comparison.after.run))
    return tuple(_found(name, run) for name, run in sides if _is_cut(run))


def _is_cut(run: RunRecord) -> bool:
    return not run.meta.complete or (run.meta.ended_by == "itself" and bool(run.meta.exit_code))


def _found(name: str, run: RunRecord) -> Found:
    how = (
        f"ended with exit code {run.meta.exit_code}"
        if run.meta.complete
        else "has no trailer: it was cut short"
    )
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"The recording of the run {name} the resume {how}.",
        remedy="Look at the script's output for the reason, and record again if steps are missing.",
        evidence=(
            Evidence("steps recorded", len(run.ranks[0].steps) if run.ranks else 0, None, run.meta.path),
        ),
        confidence=Confidence.CONFIRMED,
    )
