"""Training in float16 has left no gradient-scaler state.

What it means
-------------
The scale starts from its default (65536) after a resume. Until it has been found again, steps whose
gradients overflow are skipped.

How it is measured
------------------
A scaler is missed only where the checkpoint shows training in float16: parameters of that dtype under
the optimizer, or a framework's setting that says so. Runs in float32 or bfloat16 need none.

How to fix it
-------------
Save ``scaler.state_dict()`` and load it after the scaler is built.

When it is wrong
----------------
When float16 weights are trained without loss scaling on purpose.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
    SOURCE,
    absence,
    first_unknown,
    gather,
    is_absent,
    is_present,
    is_required,
    presence,
    remedy,
    severity,
)
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

HALF = "float16"
"""The dtype whose narrow range needs a scaler."""


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    if not is_present(facts, StateKind.OPTIMIZER):
        return None
    half = [optimizer.where for optimizer in facts.optimizers if HALF in optimizer.parameter_dtypes]
    known = presence(facts, StateKind.SCALER)
    said = known.why if known.detail is None else None
    if not half and not said and not is_required(case, StateKind.SCALER):
        return None
    if not is_absent(facts, StateKind.SCALER):
        return first_unknown(facts, StateKind.SCALER)
    marks = tuple(Evidence(f"parameters of {where}", HALF, None, SOURCE) for where in half)
    return Found(
        severity=severity(case, [StateKind.SCALER], Severity.WARNING),
        side=Side.COMPUTE,
        summary="training is in float16, but the gradient scaler's state is missing: steps are skipped "
        "until the scale is found again",
        remedy=remedy(facts, StateKind.SCALER),
        evidence=(*absence(facts, StateKind.SCALER), *marks),
        checkpoint=facts.path,
    )
