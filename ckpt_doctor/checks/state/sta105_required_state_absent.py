"""A state that the project demands is not in the checkpoint, and no other rule says so.

What it means
-------------
A run that resumes from this checkpoint begins the state anew. Most states have a rule of their own, which
knows more of what that costs. This one speaks for those that not every run has or that nothing can tell
a run needs (averaged weights, loader arguments), for the weights themselves, and for any other where its
own rule is silent, as it is on a file without an optimizer.

How it is measured
------------------
It is asked last: of the states that ``--require`` or the project's ``required`` names, those that the
checkpoint is known to lack, and whose absence no other finding tells.

How to fix it
-------------
Save the state in the way that the remedy names, or take it out of the project's list where the run has
none.

When it is wrong
----------------
Where the state is kept in a place of its own, which is not below the folder that was inspected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckpt_doctor.checks.absences import telling
from ckpt_doctor.checks.checkpoints import absence, first_unknown, gather, is_absent, is_required, remedy
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Finding, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

COSTS: Mapping[StateKind, str] = {
    StateKind.MODEL: "the weights are missing: a resumed run starts from new ones",
    StateKind.EMA: "the averaged weights are missing: their average starts anew after a resume",
    StateKind.LOADER_ARGUMENTS: "the loader's arguments are missing: a resumed run takes those that the "
    "script has then",
}
"""What the absence of states without a rule of their own costs."""


def find_rest(case: Case, findings: Sequence[Finding]) -> tuple[Found, ...] | CannotTell | None:
    """Judge what the other rules have not told of each checkpoint."""
    return gather(_judge(case, facts, findings) for facts in case.checkpoints)


def _judge(
    case: Case, facts: CheckpointFacts, findings: Sequence[Finding]
) -> tuple[Found, ...] | CannotTell | None:
    required = [kind for kind in StateKind if is_required(case, kind)]
    untold = [kind for kind in required if is_absent(facts, kind) and telling(findings, facts, kind) is None]
    if not untold:
        return first_unknown(facts, *required)
    return tuple(
        Found(
            severity=Severity.ERROR,
            side=Side.NONE,
            summary=COSTS.get(kind, f"the state {kind.value} is missing: it starts anew after a resume"),
            remedy=remedy(facts, kind),
            evidence=absence(facts, kind),
            checkpoint=facts.path,
        )
        for kind in untold
    )
