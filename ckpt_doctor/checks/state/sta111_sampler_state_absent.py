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
order from seed and epoch. A plain count of batches says how far the epoch was, not in which order: it
makes up for them only beside the states of random-number generators, from which samplers draw. For runs
that are known to have no loader it is info.

How to fix it
-------------
Save the sampler's epoch and its generator state, or use a stateful loader and save its state.

When it is wrong
----------------
When the data are not shuffled, or the order is a function of the step or epoch that is saved.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
    NO_LOADER,
    SOURCE,
    absence,
    first_unknown,
    gather,
    has_no_loader,
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
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.states import PresenceDetail, StateKind

ORDER = (StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG)
"""Either of them fixes the order of the data."""
POSITION = StateKind.DATALOADER_POSITION
_GENERATORS = (StateKind.TORCH_RNG, StateKind.NUMPY_RNG, StateKind.PYTHON_RNG)
"""What samplers without a generator of their own draw the order from."""


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    if order_was_seen(case) and not is_required(case, *ORDER):
        return None
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    required = [kind for kind in ORDER if is_required(case, kind) and is_absent(facts, kind)]
    if not required:
        if not is_present(facts, StateKind.OPTIMIZER) or _order_is_kept(facts):
            return None
        unknown = first_unknown(facts, *ORDER, *(_GENERATORS if _is_counted(facts) else ()))
        if unknown is not None:
            return unknown
    loaderless = has_no_loader(case)
    return Found(
        severity=severity(case, required, Severity.INFO if loaderless else Severity.WARNING),
        side=Side.DATA,
        summary="the sampler's state is missing: the order of the data starts again after a resume"
        f"{NO_LOADER if loaderless else ''}",
        remedy=remedy(facts, *ORDER),
        evidence=(*absence(facts, *ORDER), *_count(facts)),
        checkpoint=facts.path,
    )


def _order_is_kept(facts: CheckpointFacts) -> bool:
    """Whether the order is in the file, or computed on resume, or what is in the file makes up for it."""
    if any(is_present(facts, kind) or is_derived(facts, kind) for kind in ORDER):
        return True
    if _is_counted(facts):
        return any(is_present(facts, kind) for kind in _GENERATORS)
    return is_present(facts, POSITION) and presence(facts, POSITION).detail is None


def _is_counted(facts: CheckpointFacts) -> bool:
    return presence(facts, POSITION).detail is PresenceDetail.COUNT


def _count(facts: CheckpointFacts) -> tuple[Evidence, ...]:
    """Where the position is that does without an order."""
    if not _is_counted(facts):
        return ()
    where = presence(facts, POSITION).where or POSITION.value
    return (Evidence(where, "counts batches or samples, not in which order", None, SOURCE),)
