"""No optimizer state lies beside the model.

What it means
-------------
The moments of Adam, the momentum of SGD and the like start from zero after a resume. Steps are as
fast as before, but the loss jumps and training needs time to find back. A file of weights alone is no
training checkpoint at all; then this is said once and the other rules are silent.

How it is measured
------------------
The decoded file or folder is searched for a state dict with ``state`` and ``param_groups``, and for
the framework's own places. The severity is a warning where other training state (step, epoch,
scheduler, RNG) shows that a run is meant to go on; info for weights alone; error where the project
requires it.

How to fix it
-------------
Save ``optimizer.state_dict()`` beside the model; where the framework has a switch that leaves it out,
turn that off.

When it is wrong
----------------
For a file that is meant for inference or as a start for fine-tuning. For a plain SGD without momentum
nothing is lost.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
    absence,
    first_unknown,
    gather,
    is_absent,
    is_present,
    is_training,
    remedy,
    severity,
)
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    if not is_present(facts, StateKind.MODEL):
        return first_unknown(facts, StateKind.MODEL)
    if not is_absent(facts, StateKind.OPTIMIZER):
        return first_unknown(facts, StateKind.OPTIMIZER)
    if is_training(facts):
        summary = "optimizer state is missing: its moments start from zero after a resume"
        level = Severity.WARNING
    else:
        summary = "these are weights only, not a training checkpoint: no run can go on from them as it was"
        level = Severity.INFO
    return Found(
        severity=severity(case, [StateKind.OPTIMIZER], level),
        side=Side.NONE,
        summary=summary,
        remedy=remedy(facts, StateKind.OPTIMIZER),
        evidence=absence(facts, StateKind.OPTIMIZER),
        checkpoint=facts.path,
    )
