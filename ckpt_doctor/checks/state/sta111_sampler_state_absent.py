"""Neither the epoch, the seed nor the generator of the sampler is in the checkpoint.

What it means
-------------
The order of the data starts again after a resume. Samples that were seen in this epoch come again,
others never; and where the first run had warmed the page cache in its order, the resumed run reads in
another one, from disk.

How it is measured
------------------
The file is searched for a sampler's epoch, seed or generator state, also inside the state of a
stateful loader. A complete loader state makes up for them, and so does a framework that computes the
order from seed and epoch.

How to fix it
-------------
Save the sampler's epoch and its generator state, or use a stateful loader and save its state.

When it is wrong
----------------
When the data are not shuffled, or the order is a function of the step that is saved.
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
    order_was_seen,
    presence,
    remedy,
    severity,
)
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

ORDER = (StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG)
"""Either of them fixes the order of the data."""


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    if order_was_seen(case) and not is_required(case, *ORDER):
        return None
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    required = [kind for kind in ORDER if is_required(case, kind) and is_absent(facts, kind)]
    if not required:
        if not is_present(facts, StateKind.OPTIMIZER) or any(is_present(facts, kind) for kind in ORDER):
            return None
        if any(is_derived(facts, kind) for kind in ORDER):
            return None
        position = presence(facts, StateKind.DATALOADER_POSITION)
        if is_present(facts, StateKind.DATALOADER_POSITION) and position.detail is None:
            return None
        if not all(is_absent(facts, kind) for kind in ORDER):
            return first_unknown(facts, *ORDER)
    return Found(
        severity=severity(case, required, Severity.WARNING),
        side=Side.DATA,
        summary="the sampler's state is missing: the order of the data starts again after a resume",
        remedy=remedy(facts, *ORDER),
        evidence=absence(facts, *ORDER),
        checkpoint=facts.path,
    )
