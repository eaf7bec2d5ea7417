"""Which finding tells that a state is missing."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.absences import telling
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Case
from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from tests.structure.source import ROOT

CHECKPOINTS = ROOT / "fixtures" / "checkpoints"


@pytest.mark.parametrize("name", ["plain.pt", "weights.pt", "half.pt", "compiled.pt"])
def test_every_required_state_that_is_missing_is_told(name: str) -> None:
    """Whatever else is missing, a finding tells each state that is required and absent, and no other."""
    facts = read_checkpoint(str(CHECKPOINTS / name))
    for kind in StateKind:
        findings, _ = judge(Case(checkpoints=(facts,), required=frozenset({kind.value})))
        finding = telling(findings, facts, kind)
        is_absent = facts.states[kind].status is PresenceStatus.ABSENT
        assert (finding is not None) == is_absent, kind


def test_each_checkpoint_has_findings_of_its_own() -> None:
    """The finding on one file does not speak for another."""
    one, other = (read_checkpoint(str(CHECKPOINTS / name)) for name in ("plain.pt", "legacy.pt"))
    findings, _ = judge(Case(checkpoints=(one,)))
    assert telling(findings, one, StateKind.TORCH_RNG) is not None
    assert telling(findings, other, StateKind.TORCH_RNG) is None
