"""DAT209: data wait grew and nothing says why."""

from __future__ import annotations

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Location, Severity, Side, Status
from tests.builders import control, make_case, resumed

OLD, NEW = ("data.py", 3), ("data.py", 40)


def test_waiting_that_no_counter_explains_is_told_with_the_line_that_grew() -> None:
    """Slower on the data side, its cause not established, and the line is the place to look."""
    after = resumed(0.018, parts={"data_wait": 0.009}, lines={OLD: 0.001, NEW: 0.008})
    case = make_case(control(lines={OLD: 0.001}), after)
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["DAT209"]
    assert (findings[0].severity, findings[0].confidence) == (Severity.ERROR, Confidence.SUSPECTED)
    assert findings[0].location == Location(*NEW)
    verdict = decide(case, findings)
    assert (verdict.status, verdict.side, verdict.cause) == (Status.SLOWER, Side.DATA, "DAT209")
    assert verdict.next_step is not None
    assert "data.py:40" in verdict.next_step


def test_what_another_rule_explains_is_not_reported_again() -> None:
    """A confirmed cold cache leaves nothing over."""
    after = resumed(0.018, parts={"data_wait": 0.009}, sampled={"physical_read_bytes": 10**6})
    assert [f.code for f in judge(make_case(control(), after))[0]] == ["DAT203"]


def test_a_rest_that_grew_without_cpu_is_waiting_where_no_loader_feeds_the_steps() -> None:
    """A script that reads by itself waits in the rest of its step; one that computes there does not."""
    plain = {"batches": 0, "samples": 0, "elements": 0}
    nothing = {"data_wait": 0.0}
    before = control(counters=plain, parts=nothing)
    waiting = resumed(0.018, counters=plain, parts=nothing)
    working = resumed(0.018, counters={**plain, "user_s": 0.017}, parts=nothing)
    assert [f.code for f in judge(make_case(before, waiting))[0]] == ["DAT209"]
    assert [f.code for f in judge(make_case(before, working))[0]] == ["CMP319"]
