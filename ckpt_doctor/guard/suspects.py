"""Which states of a checkpoint explain that the resumed run is another one."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ckpt_doctor.checks.absences import telling
from ckpt_doctor.checks.checkpoints import is_absent, is_derived, is_present
from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Report, Severity
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.guard.failure import remedied
from ckpt_doctor.guard.inspected import inspected, told
from ckpt_doctor.readers.presence import RNG_KINDS

SAMPLER = (StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG)
"""Either of them fixes the order of the data."""
EVERY_RUN = (StateKind.MODEL, StateKind.OPTIMIZER, StateKind.STEP, StateKind.EPOCH)
"""States that every run has, besides its data and its generators."""
SOME_RUNS = (StateKind.SCHEDULER, StateKind.EMA)
"""States that a checkpoint may well lack, because the run has none."""
_GENERATOR_RULE = "STA113"


@dataclass(frozen=True)
class Clues:
    """What the two runs show of their states."""

    other_generators: frozenset[StateKind]
    """Generators that the run draws from, and that are not, after the load, where they were at the save."""
    same_samples: bool | None
    """Whether the resumed run had the samples of the other one, throughout; None where they were not told."""


def explained(path: str | os.PathLike[str], clues: Clues) -> tuple[str, ...]:
    """Lines that say which states are missing or not put back, with the cost and the remedy.

    Args:
        path: The checkpoint.
        clues: What is known of both runs.
    """
    try:
        report = inspected(path)
        (facts,) = report.checkpoints
        suspects = [kind for kind in StateKind if _is_suspect(kind, report, clues)]
        missing = told(inspected(path, suspects), suspects)
        left = [kind for kind in RNG_KINDS if kind in clues.other_generators and is_present(facts, kind)]
        return (*missing, *_not_put_back(left)) or _nothing_needed_is_missing(path, facts)
    except CheckpointError as error:
        return (f"The checkpoint cannot be inspected: {error.what}",)


def _is_suspect(kind: StateKind, report: Report, clues: Clues) -> bool:
    """Whether a state is missing that would explain the difference."""
    (facts,) = report.checkpoints
    if not _is_lacking(facts, kind):
        return False
    if kind in RNG_KINDS:
        return kind in clues.other_generators
    if kind in SAMPLER:
        return not clues.same_samples and all(_is_lacking(facts, other) for other in SAMPLER)
    if kind is StateKind.DATALOADER_POSITION:
        return not clues.same_samples
    if kind in EVERY_RUN:
        return True
    finding = telling(report.findings, facts, kind)
    return finding is not None and finding.severity is not Severity.INFO


def _is_lacking(facts: CheckpointFacts, kind: StateKind) -> bool:
    return is_absent(facts, kind) and not is_derived(facts, kind)


def _not_put_back(kinds: list[StateKind]) -> tuple[str, ...]:
    if not kinds:
        return ()
    names = ", ".join(kind.value for kind in kinds)
    return (
        f"Not put back: {names}",
        "  Cost: in the checkpoint, but after load() the generator is elsewhere than it was at the save",
        *remedied("set it in load(), after everything there that draws random numbers", _GENERATOR_RULE),
    )


def _nothing_needed_is_missing(path: str | os.PathLike[str], facts: CheckpointFacts) -> tuple[str, ...]:
    some = [kind for kind in SOME_RUNS if _is_lacking(facts, kind)]
    first = (
        "What every run needs is in the checkpoint: load() does not put it back as it was, or the run has "
        "state that save() leaves out.",
    )
    if not some:
        return first
    return (*first, "Or the run has one of these:", *told(inspected(path, some), some))
