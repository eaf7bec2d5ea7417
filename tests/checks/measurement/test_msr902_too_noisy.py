"""MSR902: step times that vary too much."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.checks import blame
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.measurement import msr902_too_noisy as rule
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Interval
from ckpt_doctor.facts.report import Case, Severity, Status
from tests.builders import comparison_of, control, make_case, one, resumed


def test_noise_in_which_a_large_slowdown_could_hide_is_said() -> None:
    """Stalls in every third turn leave an interval that says nothing."""
    case = make_case(control(), resumed(stalls={45: 0.9, 105: 0.7, 165: 0.8}))
    findings, _ = judge(case)
    assert one(findings, "MSR902").severity is Severity.WARNING
    verdict = decide(case, findings)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.next_step is not None


def test_a_clear_slowdown_is_not_doubted_for_its_noise() -> None:
    """Stalls once a turn make steps vary, and are the slowdown that they are."""
    findings, _ = judge(make_case(control(), resumed(stalls=dict.fromkeys(range(15, 200, 20), 0.5))))
    assert "MSR902" not in {f.code for f in findings}


def test_a_cause_that_was_found_is_not_doubted_either() -> None:
    """Bytes and events prove a slowdown in noise that the clock alone could not tell it from."""
    cold = resumed(0.018, parts={"data_wait": 0.009}, sampled={"physical_read_bytes": 500_000})
    cause = one(judge(make_case(control(), cold))[0], "DAT203")
    comparison = comparison_of(make_case(control(), resumed()))
    noisy = Case(comparison=replace(comparison, detectable_ratio=1.4, ratio=Interval(1.05, 0.9, 1.3)))
    assert rule.find_rest(noisy, ()) is not None
    assert rule.find_rest(noisy, (cause,)) is None


def test_noise_that_rules_a_slowdown_out_is_no_doubt() -> None:
    """However wide the interval: where it ends below what matters, nothing is hidden in it."""
    comparison = make_case(control(), resumed()).comparison
    assert comparison is not None
    wide = replace(comparison, detectable_ratio=1.4, ratio=Interval(0.95, 0.75, 1.15))
    assert not blame.too_noisy(wide)
    assert blame.too_noisy(replace(wide, ratio=Interval(1.0, 0.8, 1.3)))
