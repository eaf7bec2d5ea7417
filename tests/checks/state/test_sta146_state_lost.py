"""A state that the later of two checkpoints no longer has."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.state.sta146_state_lost import find
from ckpt_doctor.facts.checkpoint_comparison import CheckpointComparison
from ckpt_doctor.facts.report import Case, Severity
from ckpt_doctor.facts.states import StateKind


@pytest.mark.parametrize(
    ("required", "severity"), [(set(), Severity.WARNING), ({"scheduler"}, Severity.ERROR)]
)
def test_a_lost_state(required: set[str], severity: Severity) -> None:
    """It is a warning, or an error where the project demands it, and names both places."""
    comparison = CheckpointComparison("a.pt", "b.pt", {StateKind.SCHEDULER: "sched"}, {}, (), ())
    found = find(Case(checkpoint_comparison=comparison, required=frozenset(required)))
    assert found is not None
    assert [each.severity for each in found] == [severity]
    assert found[0].checkpoint == "b.pt"
    assert [evidence.value for evidence in found[0].evidence] == ["sched", "absent"]


def test_nothing_lost() -> None:
    """Nothing is found where nothing was lost, or where nothing was compared."""
    comparison = CheckpointComparison("a.pt", "b.pt", {}, {StateKind.EMA: "ema"}, (), ())
    assert not find(Case(checkpoint_comparison=comparison))
    assert find(Case()) is None
