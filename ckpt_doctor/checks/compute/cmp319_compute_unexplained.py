"""The steps take longer, not for data, and nothing that was counted says why.

What it means
-------------
The slowdown is real and lies in forward, backward, the optimizer or the rest of the step, but its cause
is not established. The user's lines that grew point to it.

How it is measured
------------------
What the other rules leave of the slowdown and does not lie on the data side: at least
``blame.UNEXPLAINED_SHARE`` of it, and a slowdown above the effect floor by itself. The side is compute where
forward, backward, the optimizer or another named part of the step grew most. Where that is the rest of the
step, the side is not established: the script can do anything there. Only stacks that show calls of modules
to have grown establish it.

How to fix it
-------------
Look at the lines that grew, and at what they do after a resume that they did not do before.

When it is wrong
----------------
One process is one draw: allocator, memory layout and caches make identical processes differ by some
percent, which the effect floor leaves room for. On a busy machine only CPU time of the process itself
counts, and only with one thread. On a device that works on its own (CUDA) the parts are the host's
times, so the side is not established either, unless a trace shows that the device works longer. Evidence
that tells only the time of whole steps establishes no side.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, leftover
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Finding, Found, Severity

NEEDS = ()
"""The clock is enough to say that something is slower."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge what is left of the compute side."""
    comparison = case.comparison
    if comparison is None or blame.cost_grows(comparison):
        return None
    left_s = leftover.compute_s(comparison, findings)
    if left_s < blame.UNEXPLAINED_SHARE * comparison.delta_s or left_s <= 0:
        return None
    lines = leftover.lines(comparison, left_s)
    # Where another cause explains a part, what grew most may be that one's.
    where = "" if any(blame.explains(finding) for finding in findings) else _where(comparison)
    return Found(
        severity=Severity.ERROR,
        side=leftover.compute_side(comparison, left_s),
        summary=f"Each step takes {units.seconds(left_s)} longer{where}; the cause is not established.",
        remedy=leftover.advice(lines, "what the script does after a resume that it did not do before"),
        evidence=(
            *blame.part_evidence(comparison, leftover.parts(comparison, left_s)),
            *_cpu_evidence(comparison),
            *blame.line_evidence(lines),
        ),
        confidence=Confidence.SUSPECTED,
        share_ratio=blame.share_ratio(comparison, left_s),
        delta_s=left_s,
        shape=blame.lasting_shape(comparison),
        location=blame.location_of(lines),
    )


def _where(comparison: Comparison) -> str:
    """The part of the step that grew most."""
    grown = [part for part in comparison.budget if part.part != "data_wait" and part.delta.value > 0]
    if not grown:
        return ""
    most = max(grown, key=lambda part: part.delta.value)
    return (
        " in the rest of the step"
        if most.part == "rest"
        else f" in {most.part.replace('gc', 'garbage collection')}"
    )


def _cpu_evidence(comparison: Comparison) -> tuple[Evidence, ...]:
    spent_s = blame.cpu_growth_s(comparison)
    if spent_s is None:
        return ()
    return (Evidence("CPU time of the process grew by", spent_s, "s/step", "getrusage"),)
