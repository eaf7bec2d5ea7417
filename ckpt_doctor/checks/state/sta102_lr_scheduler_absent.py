"""No state of the learning-rate scheduler lies in the checkpoint.

What it means
-------------
The schedule starts again from its first step after a resume: the learning rate jumps.

How it is measured
------------------
The file is searched for scheduler state. That the run had a scheduler at all shows in the optimizer's
groups: torch's schedulers leave ``initial_lr`` there. With that mark the finding is a warning;
without it, it is info, since nothing tells whether there was one. Frameworks that compute the rate from
the step count are left alone.

How to fix it
-------------
Save ``scheduler.state_dict()`` and load it before the first step.

When it is wrong
----------------
When the script computes the learning rate from the step by itself: then nothing is missing.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
    SOURCE,
    absence,
    first_unknown,
    gather,
    is_absent,
    is_derived,
    is_present,
    is_required,
    remedy,
    severity,
)
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

MARK = "initial_lr"
"""Group option that every scheduler of torch.optim writes when it is built."""


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    if not is_present(facts, StateKind.OPTIMIZER):
        return None
    if not is_absent(facts, StateKind.SCHEDULER):
        return first_unknown(facts, StateKind.SCHEDULER)
    marked = [
        optimizer.where for optimizer in facts.optimizers if any(MARK in g.options for g in optimizer.groups)
    ]
    if is_derived(facts, StateKind.SCHEDULER) and not is_required(case, StateKind.SCHEDULER):
        return None
    if marked:
        summary = (
            "the run had a learning-rate scheduler whose state is missing: the rate jumps after a resume"
        )
    else:
        summary = "no scheduler state: if the run has a scheduler, its schedule starts again after a resume"
    marks = tuple(Evidence(f"{where}.param_groups have {MARK}", True, None, SOURCE) for where in marked)
    return Found(
        severity=severity(case, [StateKind.SCHEDULER], Severity.WARNING if marked else Severity.INFO),
        side=Side.NONE,
        summary=summary,
        remedy=remedy(facts, StateKind.SCHEDULER),
        evidence=(*absence(facts, StateKind.SCHEDULER), *marks),
        checkpoint=facts.path,
    )
