"""What is said of the states that a checkpoint lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.guard.inspected import inspected, told
from tests.structure.source import ROOT

PLAIN = ROOT / "fixtures" / "checkpoints" / "plain.pt"


def test_states_of_one_rule_are_told_together() -> None:
    """Each rule speaks once, with all of its states, the cost, the remedy and its page."""
    kinds = (StateKind.NUMPY_RNG, StateKind.EMA, StateKind.PYTHON_RNG)
    lines = told(inspected(PLAIN, kinds), kinds)
    assert lines[0] == "Missing: numpy_rng, python_rng (STA113 rng-state-absent)"
    assert lines[1].startswith("  Cost: random-number state is missing")
    assert lines[2].startswith("  Fix: ")
    assert "random.getstate()" in lines[2]
    assert lines[3] == "  More: ckpt-doctor explain STA113"
    assert lines[4] == "Missing: ema (STA105 required-state-absent)"
    assert len(lines) == 8


def test_no_checkpoint(tmp_path: Path) -> None:
    """What cannot be read is an error with the path in it."""
    with pytest.raises(CheckpointError, match=r"none\.pt"):
        inspected(tmp_path / "none.pt")
