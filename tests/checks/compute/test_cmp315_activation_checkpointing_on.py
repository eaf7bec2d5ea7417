"""CMP315: activation checkpointing is on after the resume."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Confidence, Severity
from tests.builders import control, make_case, one, resumed

ON = {"activation_checkpoints": 12, "recompute_s": 0.003}
SLOWER = {"backward": 0.007}


def test_checkpoints_with_a_slower_backward_are_confirmed() -> None:
    """Twelve a step, none before, and the 3 ms that backward grew by were spent on computing again."""
    findings, _ = judge(make_case(control(), resumed(0.013, parts=SLOWER, counters=ON)))
    assert [f.code for f in findings] == ["CMP315"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)


def test_only_the_time_of_computing_again_is_blamed_on_it() -> None:
    """Backward grew by 8 ms; 3 of them are recomputation, the rest is not established."""
    findings, _ = judge(make_case(control(), resumed(0.018, parts={"backward": 0.012}, counters=ON)))
    assert one(findings, "CMP315").delta_s == pytest.approx(0.003)
    assert one(findings, "CMP319").delta_s == pytest.approx(0.005, abs=0.001)


def test_more_of_them_per_pass_count_and_more_passes_do_not() -> None:
    """From every second block to every block; and twice the micro-batches with twice the checkpoints."""
    half = control(counters={"activation_checkpoints": 6, "recompute_s": 0.0015})
    assert "CMP315" in {f.code for f in judge(make_case(half, resumed(0.013, parts=SLOWER, counters=ON)))[0]}
    passes = {"activation_checkpoints": 12, "backwards": 2, "elements": 2000, "recompute_s": 0.003}
    twice = resumed(0.018, parts={"forward": 0.006, "backward": 0.008}, counters=passes)
    assert "CMP315" not in {f.code for f in judge(make_case(half, twice))[0]}


def test_without_a_slower_backward_they_are_only_mentioned() -> None:
    """Nothing is slower, or only forward is."""
    for after in (resumed(counters=ON), resumed(0.018, parts={"forward": 0.011}, counters=ON)):
        finding = one(judge(make_case(control(), after))[0], "CMP315")
        assert (finding.severity, finding.share_ratio) == (Severity.INFO, None)


def test_what_was_on_before_is_not_the_resume_s_doing() -> None:
    """As many on both sides."""
    findings, _ = judge(
        make_case(control(counters=ON), resumed(0.018, parts={"backward": 0.012}, counters=ON))
    )
    assert [f.code for f in findings] == ["CMP319"]


def test_where_they_were_not_counted_it_is_not_evaluated() -> None:
    """A hook that could not be installed has told zeros that mean nothing."""
    before = control(not_measured={"activation_checkpoint": "AttributeError: _checkpoint_hook"})
    _, unknown = judge(make_case(before, resumed(counters=ON)))
    assert "CMP315" in {rule.code for rule in unknown}
