"""CMP306: the optimizer takes a slower path."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Severity
from tests.builders import control, make_case, resumed

SLOW = {"optimizer.0.group.0.foreach": False}


def test_a_flag_that_came_back_with_a_slower_optimizer_is_confirmed() -> None:
    """Foreach was undecided before and is off after."""
    findings, _ = judge(make_case(control(), resumed(0.014, parts={"optimizer": 0.005}, values=SLOW)))
    assert [(f.code, f.severity) for f in findings] == [("CMP306", Severity.ERROR)]
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert "foreach None -> False" in findings[0].summary


def test_the_flag_alone_is_only_mentioned() -> None:
    """On a CPU with few parameters it makes no difference."""
    findings, _ = judge(make_case(control(), resumed(values=SLOW)))
    assert [(f.code, f.severity) for f in findings] == [("CMP306", Severity.INFO)]


def test_options_of_an_added_group_are_no_changed_options() -> None:
    """A second group is CMP305's story."""
    after = resumed(
        0.014,
        parts={"optimizer": 0.005},
        values={"optimizer.0.groups": 2, "optimizer.0.group.1.foreach": False},
    )
    assert [f.code for f in judge(make_case(control(), after))[0]] == ["CMP305"]
