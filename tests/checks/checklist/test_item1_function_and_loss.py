"""Whether the loss goes on."""

from __future__ import annotations

from ckpt_doctor.checks.checklist.item1_function_and_loss import judge
from ckpt_doctor.facts.checklist import ItemStatus
from tests.builders import control, make_case, make_checklist_case, resumed


def test_the_loss_is_never_claimed_to_go_on() -> None:
    """Nothing was found against it, and it was not seen all the same: a test can see it."""
    outcome = judge(make_checklist_case(make_case(control(), resumed())))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "assert_resumable" in outcome.sentence


def test_other_data_give_another_loss() -> None:
    """A run that begins its data anew cannot have the losses of the one that went on."""
    anew = resumed(digests=[str(i) for i in range(200)])
    outcome = judge(make_checklist_case(make_case(control(), anew)))
    assert (outcome.status, outcome.codes) == (ItemStatus.FAILED, ("DAT201",))
    assert outcome.sentence == "data order not restored"
