"""DAT202: batches are drawn and thrown away."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Confidence, Severity, Side, Status
from tests.builders import RESUMED_STEPS, control, make_case, make_run, one, resumed

REST = RESUMED_STEPS - 1


def test_batches_dropped_before_the_first_step_are_the_resume_s_one_time_cost() -> None:
    """60 batches replayed in 3 s: counted, priced, and confirmed by the position in the run."""
    after = resumed(
        counters={"batches": [61] + [1] * REST},
        parts={"data_wait": [3.05] + [0.001] * REST, "forward": 0.0, "backward": 0.0, "optimizer": 0.0},
    )
    case = make_case(control(), after)
    findings, _ = judge(case)
    found = one(findings, "DAT202")
    assert (found.severity, found.shape, found.confidence) == (
        Severity.ERROR,
        Shape.ONE_TIME,
        Confidence.CONFIRMED,
    )
    assert found.delta_s == pytest.approx(3.0, rel=0.01)
    verdict = decide(case, findings)
    assert (verdict.status, verdict.side, verdict.cause) == (Status.SLOWER, Side.DATA, "DAT202")


def test_a_few_batches_more_are_no_replay() -> None:
    """A sanity check of two validation batches before the training is not blamed."""
    findings, _ = judge(make_case(control(), resumed(counters={"batches": [3] + [1] * REST})))
    assert findings == ()


def test_a_control_that_draws_as_many_at_its_own_start_makes_it_normal() -> None:
    """What a fresh start does as well is not the resume's cost."""
    before = control(counters={"batches": [31] + [1] * 259})
    findings, _ = judge(make_case(before, resumed(counters={"batches": [31] + [1] * REST})))
    assert findings == ()


def test_a_skip_that_is_repeated_each_epoch_is_a_lasting_cost() -> None:
    """Every twentieth step draws 21 batches and trains on one."""
    drawn = [21 if i % 20 == 5 else 1 for i in range(RESUMED_STEPS)]
    after = resumed(
        0.018, counters={"batches": drawn, "elements": [1000 * d for d in drawn]}, parts={"data_wait": 0.009}
    )
    findings, _ = judge(make_case(control(), after))
    assert [f.code for f in findings] == ["DAT202"]
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)


def test_without_a_loader_it_is_not_evaluated() -> None:
    """Absent counts are told, not taken for zero."""
    _, unknown = judge(make_case(make_run([0.01] * 100), make_run([0.01] * 100, arm="after")))
    assert {"DAT202", "DAT203", "WRK501"} <= {n.code for n in unknown}
