"""Which finding tells that a checkpoint lacks a state."""

from __future__ import annotations

from collections.abc import Iterable

from ckpt_doctor.checks.checkpoints import absence
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Finding
from ckpt_doctor.facts.states import StateKind


def telling(findings: Iterable[Finding], facts: CheckpointFacts, kind: StateKind) -> Finding | None:
    """The finding that has a state's absence among its evidence; None where no rule has said so."""
    (missing,) = absence(facts, kind)
    return next((f for f in findings if f.checkpoint == facts.path and missing in f.evidence), None)
