"""CMP305: the optimizer's state grew."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Confidence
from tests.builders import control, make_case, resumed

WIDE = {"optimizer.0.state_bytes": 2000, "optimizer.0.state_dtypes": "float64:2000"}


def test_a_wider_state_with_a_slower_optimizer_is_confirmed() -> None:
    """Twice the bytes and 8 ms more in the optimizer."""
    findings, _ = judge(make_case(control(), resumed(0.018, parts={"optimizer": 0.009}, values=WIDE)))
    assert [f.code for f in findings] == ["CMP305"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert any("float64" in str(e.value) for e in findings[0].evidence)


def test_a_group_that_was_added_twice_counts_too() -> None:
    """The state has the same size, but its parameters are stepped twice."""
    before = control(values={"optimizer.0.parameters": 10})
    after = resumed(
        0.014, parts={"optimizer": 0.005}, values={"optimizer.0.groups": 2, "optimizer.0.parameters": 20}
    )
    assert [f.code for f in judge(make_case(before, after))[0]] == ["CMP305"]


def test_a_wider_state_beside_a_slower_forward_is_not_blamed() -> None:
    """The counter moved, its part did not."""
    after = resumed(0.018, parts={"forward": 0.011}, values=WIDE)
    assert [f.code for f in judge(make_case(control(), after))[0]] == ["CMP319"]


def test_a_wider_state_at_the_same_speed_is_not_reported() -> None:
    """Nothing is slower."""
    assert judge(make_case(control(), resumed(values=WIDE)))[0] == ()
