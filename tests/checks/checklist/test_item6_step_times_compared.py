"""Whether the step times were compared, and the side named."""

from __future__ import annotations

from ckpt_doctor.checks.checklist.item6_step_times_compared import judge
from ckpt_doctor.facts.checklist import ItemStatus, Judged
from ckpt_doctor.facts.report import Side, Status, Verdict
from ckpt_doctor.facts.run import RunRecord
from tests.builders import RESUMED_STEPS, control, make_case, make_checklist_case, resumed


def judged(before: RunRecord, after: RunRecord, **changes: object) -> Judged:
    """The item for two runs."""
    return judge(make_checklist_case(make_case(before, after), **changes))


def test_a_run_that_is_as_fast_as_before() -> None:
    """There is an answer, and no side to name."""
    outcome = judged(control(), resumed())
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence.endswith(", not slower")


def test_a_run_that_is_faster() -> None:
    """That is an answer, too."""
    outcome = judged(control(), resumed(0.005, parts={"backward": 0.0, "forward": 0.002}))
    assert (outcome.status, outcome.sentence[-6:]) == (ItemStatus.CHECKED, "faster")


def test_a_slower_run_with_its_side() -> None:
    """The item is done; its first code is the cause."""
    cold = resumed(0.018, parts={"data_wait": 0.009}, sampled={"physical_read_bytes": 10**6})
    outcome = judged(control(), cold)
    assert (outcome.status, outcome.codes) == (ItemStatus.CHECKED, ("DAT203",))
    assert outcome.sentence.endswith("slower, data side")


def test_a_slow_start() -> None:
    """A resume that costs once is told apart from steps that are slower."""
    replay = resumed(counters={"batches": [61] + [1] * (RESUMED_STEPS - 1)})
    outcome = judged(control(), replay)
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence.startswith("slow to resume, then ")


def test_a_side_that_is_not_established() -> None:
    """Slower, and nobody knows where: the item is not done."""
    verdict = Verdict(Status.SLOWER, Side.NOT_ESTABLISHED, None, None, "Slower.")
    assert judged(control(), resumed(0.018), verdict=verdict).status is ItemStatus.FAILED


def test_too_few_steps() -> None:
    """A measurement that is too weak is named by the rule that says why."""
    outcome = judged(control(count=75), resumed(count=14))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert outcome.codes[0] == "MSR901"


def test_a_doubt_that_no_rule_names() -> None:
    """An open verdict leaves the item open, whatever else was found."""
    verdict = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "No verdict.")
    outcome = judged(control(), resumed(), verdict=verdict, findings=())
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "too weak" in outcome.sentence
