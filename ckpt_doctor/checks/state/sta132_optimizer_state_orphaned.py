"""The optimizer holds state without a parameter, or lists parameters twice.

What it means
-------------
``load_state_dict`` keeps such entries, so they survive every save and load: memory for nothing, and with
parameters listed twice each step updates them twice.

How it is measured
------------------
The ids in ``state`` are compared with the ids that ``param_groups`` list, the groups with each other,
and the shapes of the state with the model's parameters where a model lies beside it.

How to fix it
-------------
Build the parameter groups exactly as the first run did before ``load_state_dict``, and delete entries
whose id no group lists. ``ckpt-doctor treat`` drops them from a copy.

When it is wrong
----------------
When the optimizer's parameters belong to modules whose weights are not in this file.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE, savings
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side

SHOWN = 5
"""Ids that are named in the evidence."""
CAUSES = ("orphans", "duplicates")


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each optimizer of each checkpoint."""
    found = [
        each for facts in case.checkpoints for each in (_judge(facts, o) for o in facts.optimizers) if each
    ]
    return tuple(found) or None


def _judge(facts: CheckpointFacts, optimizer: OptimizerFacts) -> Found | None:
    parts = []
    if optimizer.orphans:
        parts.append(f"{len(optimizer.orphans)} entries of state without a parameter")
    if optimizer.duplicates:
        parts.append(f"{len(optimizer.duplicates)} parameters more than once")
    if not parts:
        return None
    return Found(
        severity=Severity.WARNING,
        side=Side.COMPUTE,
        summary=f"the optimizer at {optimizer.where} holds {' and '.join(parts)}",
        remedy="build the parameter groups as the first run did before load_state_dict, and delete entries "
        "of 'state' whose id no group lists",
        evidence=(
            Evidence("entries with state", optimizer.entries, None, SOURCE),
            Evidence("parameters in the groups", sum(g.parameters for g in optimizer.groups), None, SOURCE),
            *savings(sum(optimizer.surplus_bytes.get(cause, 0) for cause in CAUSES)),
            *(Evidence("orphaned id", each, None, SOURCE) for each in optimizer.orphans[:SHOWN]),
            *(Evidence("duplicated id", each, None, SOURCE) for each in optimizer.duplicates[:SHOWN]),
        ),
        checkpoint=facts.path,
    )
