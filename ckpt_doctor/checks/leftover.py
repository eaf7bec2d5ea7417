"""How the slowdown that no rule explains is divided between the data and the compute side."""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, LineDelta
from ckpt_doctor.facts.report import Finding, Side

LINE_SHARE = 0.1
"""The user's lines are named from this part of what is unexplained on."""
LINES = 3
"""So many lines are named."""
WAITING_CPU_SHARE = 0.25
"""A rest of the step that grew with less CPU time than this part of it is waiting, not work."""


def data_s(comparison: Comparison, findings: Sequence[Finding]) -> float:
    """Unexplained seconds per step on the data side; none where the host's wait may be hidden."""
    if blame.asynchronous(comparison):
        return 0.0
    left_s = blame.unexplained_s(comparison, findings)
    explained_s = sum(f.delta_s or 0.0 for f in findings if blame.explains(f) and f.side is Side.DATA)
    return max(0.0, min(left_s, _waiting_s(comparison) - explained_s))


def compute_s(comparison: Comparison, findings: Sequence[Finding]) -> float:
    """Unexplained seconds per step everywhere else."""
    return blame.unexplained_s(comparison, findings) - data_s(comparison, findings)


def lines(comparison: Comparison, left_s: float) -> tuple[LineDelta, ...]:
    """The user's lines that grew by a part of what is unexplained."""
    return blame.grown_lines(comparison, LINE_SHARE * left_s)[:LINES]


def advice(grown: Sequence[LineDelta], where: str) -> str:
    """What to look at next."""
    if grown:
        line = grown[0].line
        place = f"{line.file}:{line.line} ({line.function})"
        return f"Look at {place}, which grew most; then measure again without it."
    return f"Probe again with stacks (py-spy) to see which line grew, and look at {where}."


def _waiting_s(comparison: Comparison) -> float:
    """Growth of the time that steps wait for data, as far as that can be told."""
    if blame.has_loader(comparison):
        return blame.growth_s(comparison, ("data_wait",))
    rest_s = blame.growth_s(comparison, ("data_wait", "rest"))
    spent_s = blame.cpu_growth_s(comparison)
    waits = spent_s is not None and not blame.contended(comparison) and spent_s < WAITING_CPU_SHARE * rest_s
    return rest_s if waits else 0.0
