"""The checkpoint counts neither steps nor epochs.

What it means
-------------
Nothing tells a resumed run how far it was: schedules, samplers, logs and the end of training cannot be
put back to their place.

How it is measured
------------------
The file is searched for a counter of the loop by its usual names and by the framework's own. The
per-parameter ``step`` of Adam and a scheduler's ``last_epoch`` do not count. One of step and epoch is
enough.

How to fix it
-------------
Save the number of optimizer steps and the epoch.

When it is wrong
----------------
When the counter lies elsewhere: in the file's name, a log, or a database.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
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
from ckpt_doctor.facts.report import CannotTell, Case, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

COUNTERS = (StateKind.STEP, StateKind.EPOCH)
"""Either of them is enough to know where the run was."""


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    required = [kind for kind in COUNTERS if is_required(case, kind) and is_absent(facts, kind)]
    if not is_present(facts, StateKind.OPTIMIZER) and not required:
        return None
    if not required and any(is_present(facts, kind) or is_derived(facts, kind) for kind in COUNTERS):
        return None
    missing = required or [kind for kind in COUNTERS if is_absent(facts, kind)]
    if not required and len(missing) < len(COUNTERS):
        return first_unknown(facts, *COUNTERS)
    names = " and ".join(kind.value for kind in missing)
    return Found(
        severity=severity(case, missing, Severity.WARNING),
        side=Side.NONE,
        summary=f"no {names} counter is in the checkpoint: nothing else can be put back to its place",
        remedy=remedy(facts, *missing),
        evidence=absence(facts, *missing),
        checkpoint=facts.path,
    )
