"""DAT205: the loader has other arguments."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Severity
from tests.builders import comparison_of, control, make_case, one, resumed


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


def test_the_cost_is_what_the_step_shows() -> None:
    """Waiting that the rest of the step makes good for in part costs no more than the step grew by."""
    waits = {"data_wait": 0.006, "backward": 0.003}
    after = resumed(0.014, parts=waits, values={"loader.0.num_workers": 0})
    case = make_case(control(), after)
    found = one(judge(case)[0], "DAT205")
    assert found.delta_s == comparison_of(case).delta_s
    assert found.delta_s < 0.005


def test_larger_batches_are_told_as_work() -> None:
    """A larger batch size alone is WRK501's to tell; fewer workers beside it keep a cost of their own."""
    grown = {
        "parts": {"data_wait": 0.006, "forward": 0.006, "backward": 0.008},
        "counters": {"elements": 2000, "samples": 64},
    }
    before = control(values={"loader.0.batch_size": 32})
    sizes = {"loader.0.batch_size": 64}
    found = one(judge(make_case(before, resumed(0.023, values=sizes, **grown)))[0], "DAT205")
    assert (found.severity, found.share_ratio) == (Severity.INFO, None)
    fewer = {**sizes, "loader.0.num_workers": 0}
    findings, _ = judge(make_case(before, resumed(0.023, values=fewer, **grown)))
    assert one(findings, "DAT205").delta_s == pytest.approx(0.004, abs=0.0005)
    assert one(findings, "WRK501").severity is Severity.ERROR


def test_more_workers_and_kept_workers_are_no_fault() -> None:
    """Changes that can only help are not reported, nor is what DAT204 tells."""
    values = {"loader.0.num_workers": 4, "loader.0.persistent_workers": False}
    assert judge(make_case(control(), resumed(values=values)))[0] == ()
