"""The position within the epoch is not in the checkpoint.

What it means
-------------
A run that resumes in the middle of an epoch either begins the epoch again, and sees data twice, or
draws and drops batches until it is where it was. That replay reads and decodes every skipped sample:
it can take hours before the first step.

How it is measured
------------------
The file is searched for the state of a stateful loader, for a count of batches or samples done in the
epoch, and for the framework's own place. Where a framework derives the position by skipping, or where
the runs are known to have no loader, the finding is info and says so.

How to fix it
-------------
Use a loader that keeps its position: torchdata's ``StatefulDataLoader``, or the framework's own
switch, which the remedy names.

When it is wrong
----------------
When checkpoints are written at the end of an epoch only, or the data are drawn at random without
epochs.
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
from ckpt_doctor.facts.shape import Shape
from ckpt_doctor.facts.states import PresenceDetail, StateKind

KIND = StateKind.DATALOADER_POSITION


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    if order_was_seen(case) and not is_required(case, StateKind.DATALOADER_POSITION):
        return None
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    if not is_present(facts, StateKind.OPTIMIZER) and not is_required(case, KIND):
        return None
    known = presence(facts, KIND)
    if is_present(facts, KIND):
        return _incomplete(case, facts) if known.detail is PresenceDetail.INCOMPLETE else None
    if not is_absent(facts, KIND):
        return first_unknown(facts, KIND)
    if is_derived(facts, KIND):
        level = Severity.INFO
        summary = f"the position in the epoch is not saved, but derived on resume: {known.why}"
    else:
        loaderless = has_no_loader(case)
        level = Severity.INFO if loaderless else Severity.WARNING
        summary = (
            "the position in the epoch is missing: a resume in mid-epoch replays the loader or repeats data"
            f"{NO_LOADER if loaderless else ''}"
        )
    return Found(
        severity=severity(case, [KIND], level),
        side=Side.DATA,
        summary=summary,
        remedy=remedy(facts, KIND),
        evidence=absence(facts, KIND),
        shape=Shape.ONE_TIME,
        checkpoint=facts.path,
    )


def _incomplete(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    """A position without the order that it counts in; nothing where the sampler's state is there."""
    if is_present(facts, StateKind.SAMPLER_RNG) or is_present(facts, StateKind.SAMPLER_EPOCH):
        return None
    unknown = first_unknown(facts, StateKind.SAMPLER_RNG, StateKind.SAMPLER_EPOCH)
    if unknown is not None:
        return unknown
    known = presence(facts, KIND)
    return Found(
        severity=severity(case, [KIND], Severity.WARNING),
        side=Side.DATA,
        summary="the position in the epoch is saved without the order of the data: a shuffled run skips "
        "to it in another order",
        remedy=remedy(facts, StateKind.SAMPLER_RNG),
        evidence=(Evidence(known.where or KIND.value, known.why or "incomplete", None, SOURCE),),
        checkpoint=facts.path,
    )
