"""DAT205: the loader has other arguments."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Severity
from tests.builders import control, make_case, resumed


def test_fewer_workers_with_more_waiting_are_confirmed() -> None:
    """4 ms more data wait and two workers that became none."""
    after = resumed(0.014, parts={"data_wait": 0.005}, values={"loader.0.num_workers": 0})
    findings, _ = judge(make_case(control(), after))
    assert [f.code for f in findings] == ["DAT205"]
    assert findings[0].severity is Severity.ERROR
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert "num_workers 2 -> 0" in findings[0].summary
    assert findings[0].remedy.endswith("as in the first run: num_workers=2.")


def test_fewer_workers_without_waiting_are_only_mentioned() -> None:
    """A fast data set needs no workers."""
    findings, _ = judge(make_case(control(), resumed(values={"loader.0.num_workers": 1})))
    assert [(f.code, f.severity) for f in findings] == [("DAT205", Severity.INFO)]


def test_more_workers_and_kept_workers_are_no_fault() -> None:
    """Changes that can only help are not reported, nor is what DAT204 tells."""
    values = {"loader.0.num_workers": 4, "loader.0.persistent_workers": False}
    assert judge(make_case(control(), resumed(values=values)))[0] == ()
