"""MSR901: too few steps."""

from __future__ import annotations

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Severity, Status
from tests.builders import control, make_case, one, resumed


def test_too_few_steps_make_the_verdict_inconclusive() -> None:
    """Twelve steps prove nothing by the clock, even at 1.8 times the step time."""
    case = make_case(control(count=80), resumed(0.018, count=16))
    findings, _ = judge(case)
    assert one(findings, "MSR901").severity is Severity.WARNING
    assert decide(case, findings).status is Status.INCONCLUSIVE


def test_a_quiet_and_complete_measurement_has_nothing_to_say() -> None:
    """No finding at all on equal runs."""
    case = make_case(control(), resumed())
    findings, unknown = judge(case)
    assert findings == ()
    assert unknown == ()
    assert decide(case, findings).status is Status.SAME
