"""A required state that no other rule speaks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case, Finding, Severity
from ckpt_doctor.facts.states import Presence, PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint

FIXTURES = Path(__file__).parents[3] / "fixtures" / "checkpoints"
CODE = "STA105"


def findings(facts: CheckpointFacts, *required: StateKind) -> list[Finding]:
    """What is found on a checkpoint for which these states are required."""
    case = Case(checkpoints=(facts,), required=frozenset(kind.value for kind in required))
    return list(judge(case)[0])


def read(name: str) -> CheckpointFacts:
    """A checked-in checkpoint."""
    return read_checkpoint(str(FIXTURES / name))


@pytest.mark.parametrize("kind", [StateKind.EMA, StateKind.LOADER_ARGUMENTS])
def test_states_without_a_rule_of_their_own(kind: StateKind) -> None:
    """They are missed where they are required, and only there."""
    assert CODE not in {finding.code for finding in findings(read("plain.pt"))}
    (found,) = (f for f in findings(read("plain.pt"), kind) if f.code == CODE)
    assert found.severity is Severity.ERROR
    assert found.remedy
    assert found.checkpoint == str(FIXTURES / "plain.pt")


def test_the_weights() -> None:
    """A checkpoint without a model is no error by itself, but one where a model is required."""
    facts = read("plain.pt")
    bare = replace(facts, states={**facts.states, StateKind.MODEL: Presence(PresenceStatus.ABSENT)})
    (found,) = (f for f in findings(bare, StateKind.MODEL) if f.code == CODE)
    assert "new ones" in found.summary


def test_a_rule_that_is_silent() -> None:
    """Without an optimizer the scheduler's own rule says nothing; this one does, once for each state."""
    codes = [f.code for f in findings(read("weights.pt"), StateKind.SCHEDULER, StateKind.SCALER)]
    assert "STA102" not in codes
    assert codes.count(CODE) == 2


def test_nothing_is_told_twice() -> None:
    """What a rule of its own tells is left to it, and what is there is not missed."""
    required = (StateKind.TORCH_RNG, StateKind.DATALOADER_POSITION, StateKind.SAMPLER_RNG, StateKind.MODEL)
    codes = {finding.code for finding in findings(read("plain.pt"), *required)}
    assert {"STA111", "STA112", "STA113"} <= codes
    assert CODE not in codes


def test_a_state_of_which_nothing_is_known() -> None:
    """Nothing can be said where the reader cannot tell."""
    facts = read("plain.pt")
    unknown = Presence(PresenceStatus.UNKNOWN, why="the file is cut short")
    case = Case(
        checkpoints=(replace(facts, states={**facts.states, StateKind.EMA: unknown}),),
        required=frozenset({"ema"}),
    )
    found, not_evaluated = judge(case)
    assert CODE not in {finding.code for finding in found}
    (item,) = (item for item in not_evaluated if item.code == CODE)
    assert "cut short" in item.why
