"""MSR901 to MSR904: the quality of the measurement itself."""

from __future__ import annotations

from dataclasses import replace

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


def test_noise_in_which_a_large_slowdown_could_hide_is_said() -> None:
    """Stalls in every third turn leave an interval that says nothing."""
    case = make_case(control(), resumed(stalls={45: 0.9, 105: 0.7, 165: 0.8}))
    findings, _ = judge(case)
    assert one(findings, "MSR902").severity is Severity.WARNING
    verdict = decide(case, findings)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.next_step is not None


def test_missing_stacks_are_mentioned_with_their_reason() -> None:
    """py-spy was not allowed to look."""
    after = replace(resumed(), not_measured={"stacks": "ptrace is not permitted"})
    findings, _ = judge(make_case(control(), after))
    assert one(findings, "MSR903").severity is Severity.INFO
    assert "ptrace is not permitted" in findings[0].summary


def test_a_recording_that_was_cut_short_is_a_warning() -> None:
    """What there is gets used, and the end is told."""
    findings, _ = judge(make_case(control(), resumed(complete=False)))
    assert "cut short" in one(findings, "MSR904").summary


def test_a_quiet_and_complete_measurement_has_nothing_to_say() -> None:
    """No finding at all on equal runs."""
    case = make_case(control(), resumed())
    findings, unknown = judge(case)
    assert findings == ()
    assert unknown == ()
    assert decide(case, findings).status is Status.SAME
