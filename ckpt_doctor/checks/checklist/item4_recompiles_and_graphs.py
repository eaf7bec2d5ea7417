"""The resumed run compiles and captures no more than the control, and keeps what was compiled."""

from __future__ import annotations

from ckpt_doctor.checks.answers import failed, unknown
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.comparison import Comparison

TITLE = "recompiles and graphs"
RULES = ("CMP301", "CMP302", "CMP303", "CMP304")


def judge(case: ChecklistCase) -> Judged:
    """Judge compilations and captures of both runs."""
    return failed(case, RULES) or unknown(case, RULES) or _counted(case.comparison)


def _counted(comparison: Comparison) -> Judged:
    compiled, captured = (_counts(comparison, signal) for signal in ("compile", "graph_capture"))
    if any((*compiled, *captured)):
        told = f"compiled {compiled[1]} (before {compiled[0]}), captured {captured[1]} ({captured[0]})"
    else:
        told = "nothing is compiled or captured"
    return Judged(status=ItemStatus.CHECKED, sentence=told)


def _counts(comparison: Comparison, signal: str) -> tuple[int, int]:
    """How often it happened in either process, until the end of its window."""
    windows = (comparison.before, comparison.after)
    before, after = (sum(e.step < w.last for e in w.rank.events_of(signal)) for w in windows)
    return before, after
