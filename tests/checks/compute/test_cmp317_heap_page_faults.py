"""CMP317: processes differ in page faults, not in work."""

from __future__ import annotations

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Severity, Side, Status
from tests.builders import control, make_case, one, resumed

FAULTS = {"minor_faults": 3000, "system_s": 0.0025}


def test_faults_with_system_time_are_a_warning_and_no_slower_resume() -> None:
    """1.25 times the step time, explained by faults: said so, and not blamed on the resume."""
    case = make_case(control(), resumed(0.0125, counters=FAULTS))
    findings, _ = judge(case)
    assert [(f.code, f.severity) for f in findings] == [("CMP317", Severity.WARNING)]
    verdict = decide(case, findings)
    assert (verdict.status, verdict.side, verdict.cause) == (Status.SAME, Side.NONE, None)
    assert "page faults" in verdict.sentence


def test_more_than_the_heap_can_cost_stays_unexplained() -> None:
    """Twice the step time is not the lottery: the rest is reported."""
    findings, _ = judge(make_case(control(), resumed(0.020, counters={**FAULTS, "system_s": 0.006})))
    assert one(findings, "CMP319").severity is Severity.ERROR


def test_fixed_thresholds_rule_the_lottery_out() -> None:
    """With --steady-heap on both sides more faults are more work."""
    steady = {"env.MALLOC_MMAP_THRESHOLD_": "33554432"}
    case = make_case(control(values=steady), resumed(0.013, counters=FAULTS, values=steady))
    assert [f.code for f in judge(case)[0]] == ["CMP319"]


def test_a_proven_cause_comes_first() -> None:
    """A wider optimizer state also faults more; what it explains is not the heap's."""
    after = resumed(
        0.018,
        parts={"optimizer": 0.009},
        counters=FAULTS,
        values={"optimizer.0.state_bytes": 2000, "optimizer.0.state_dtypes": "float64:2000"},
    )
    assert [f.code for f in judge(make_case(control(), after))[0]] == ["CMP305"]
