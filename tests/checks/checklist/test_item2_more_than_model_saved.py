"""Whether the checkpoint holds more than model and optimizer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ckpt_doctor.checks.checklist.item2_more_than_model_saved import judge
from ckpt_doctor.facts.checklist import ItemStatus, Judged
from ckpt_doctor.facts.states import StateKind
from tests.builders import control, make_case, make_checklist_case, make_checkpoint, resumed

BOTH = (StateKind.MODEL, StateKind.OPTIMIZER)


def judged(present: Collection[StateKind], absent: Collection[StateKind] = ()) -> Judged:
    """The item for a checkpoint that holds and lacks some states."""
    case = make_case(control(), resumed())
    return judge(make_checklist_case(replace(case, checkpoints=(make_checkpoint(present, absent),))))


def test_what_else_it_holds_is_named() -> None:
    """The first kinds by name, of the others how many there are."""
    outcome = judged(tuple(StateKind))
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence == "also scheduler, scaler, step and 8 more"


def test_model_and_optimizer_alone() -> None:
    """What a resume will miss fails the item, with the names of what is missing."""
    outcome = judged(BOTH, [kind for kind in StateKind if kind not in BOTH])
    assert outcome.status is ItemStatus.FAILED
    assert "STA104" in outcome.codes
    assert "absent" in outcome.sentence


def test_weights_alone() -> None:
    """A file of weights is only mentioned by its rule, and holds nothing else all the same."""
    outcome = judged((StateKind.MODEL,), [kind for kind in StateKind if kind is not StateKind.MODEL])
    assert (outcome.status, outcome.sentence) == (ItemStatus.FAILED, "it holds nothing else")


def test_what_cannot_be_read_is_not_judged() -> None:
    """States that nobody can tell, and a checkpoint that was not read, are neither there nor missing."""
    unknown = judged(BOTH)
    assert unknown.status is ItemStatus.NOT_EVALUATED
    assert not unknown.sentence.startswith("ckpt.pt")
    unread = judge(make_checklist_case(make_case(control(), resumed())))
    assert unread.status is ItemStatus.NOT_EVALUATED
    assert "not read" in unread.sentence


def test_averaged_weights_are_weights() -> None:
    """A copy of the model beside the model is nothing else."""
    held = (StateKind.MODEL, StateKind.EMA)
    outcome = judged(held, [kind for kind in StateKind if kind not in held])
    assert (outcome.status, outcome.sentence) == (ItemStatus.FAILED, "it holds nothing else")
