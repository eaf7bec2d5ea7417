"""The checkpoint holds more than model and optimizer: counters, the place in the data, generators."""

from __future__ import annotations

from ckpt_doctor.checks.answers import failed, unknown
from ckpt_doctor.checks.checkpoints import is_absent, is_present
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.states import StateKind

TITLE = "more than model and optimizer"
RULES = ("STA101", "STA102", "STA103", "STA104", "STA105", "STA111", "STA112", "STA113")

LESS = frozenset({StateKind.MODEL, StateKind.OPTIMIZER, StateKind.EMA}) | {
    *(StateKind.COMPILE_CACHE, StateKind.LOADER_ARGUMENTS)
}
"""What does not count: averaged weights, caches and arguments are no state of a run that is to go on."""
MORE = tuple(kind for kind in StateKind if kind not in LESS)
KINDS_TOLD = 3
"""So many of them are named."""


def judge(case: ChecklistCase) -> Judged:
    """Judge what the checkpoint between the runs holds."""
    return failed(case, RULES) or _poor(case) or unknown(case, RULES) or _rich(case)


def _poor(case: ChecklistCase) -> Judged | None:
    """A checkpoint that is known to hold nothing else."""
    if any(all(is_absent(c, kind) for kind in MORE) for c in case.report.checkpoints):
        return Judged(status=ItemStatus.FAILED, sentence="it holds nothing else")
    return None


def _rich(case: ChecklistCase) -> Judged:
    checkpoints = case.report.checkpoints
    if not checkpoints:
        why = "the checkpoint between the runs was not read"
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence=why)
    kinds = _more(checkpoints[-1])
    if not kinds:
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence="nothing else is known to be in it")
    left = len(kinds) - KINDS_TOLD
    more = f" and {left} more" if left > 0 else ""
    return Judged(status=ItemStatus.CHECKED, sentence=f"also {', '.join(kinds[:KINDS_TOLD])}{more}")


def _more(checkpoint: CheckpointFacts) -> list[str]:
    return [kind.value for kind in MORE if is_present(checkpoint, kind)]
