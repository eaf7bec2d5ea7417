"""MSR906: the observer weighs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Case, Severity, Status
from ckpt_doctor.facts.run import RunRecord
from tests.builders import comparison_of, control, make_case, one, resumed


def _observed(run: RunRecord, hook_s: float | None) -> RunRecord:
    return replace(run, ranks=(replace(run.ranks[0], hook_s=hook_s),))


def _sampled(run: RunRecord) -> RunRecord:
    """The same run with stacks taken in every other turn."""
    turns = (replace(turn, sampled=i % 2 == 1) for i, turn in enumerate(run.turns))
    return replace(run, turns=tuple(turns))


def _case(hook_s: float | None, mean_s: float = 0.01) -> Case:
    return make_case(
        _observed(control(), hook_s), _observed(resumed(mean_s, counters={"user_s": mean_s}), hook_s)
    )


def test_a_light_observer_is_not_mentioned() -> None:
    """4 % of the step."""
    assert judge(_case(0.0004))[0] == ()


def test_a_noticeable_observer_is_a_warning() -> None:
    """8 % of the step: the verdict stands."""
    case = _case(0.0008)
    findings, _ = judge(case)
    assert one(findings, "MSR906").severity is Severity.WARNING
    assert findings[0].summary.startswith("Observing takes")
    assert decide(case, findings).status is Status.SAME


@pytest.mark.parametrize("mean_s", [0.01, 0.0115])
def test_a_heavy_observer_leaves_no_verdict(mean_s: float) -> None:
    """20 % of the step, and a difference that is smaller than that: neither equal nor slower."""
    case = _case(0.002, mean_s)
    findings, _ = judge(case)
    verdict = decide(case, findings)
    assert verdict.status is Status.INCONCLUSIVE
    assert "observing takes" in verdict.sentence
    assert verdict.next_step is not None


def test_a_slowdown_larger_than_the_observer_stands() -> None:
    """Twice as slow cannot be what the observer takes."""
    case = _case(0.002, 0.02)
    assert decide(case, judge(case)[0]).status is Status.SLOWER


def test_the_stack_sampler_counts_where_it_is_beyond_noise() -> None:
    """A ratio within the noise is no cost, and beyond it one of the turns in which stacks were taken."""
    case = make_case(_sampled(control()), _sampled(resumed()))
    comparison = comparison_of(case)
    within = replace(comparison, sampler_ratio=1.2, sampler_low_ratio=0.98)
    assert judge(replace(case, comparison=within))[0] == ()
    beyond = replace(comparison, sampler_ratio=1.3, sampler_low_ratio=1.2)
    found = one(judge(replace(case, comparison=beyond))[0], "MSR906")
    assert found.summary.startswith("Observing takes 9.6 %")


def test_an_observer_that_was_not_timed_is_not_light() -> None:
    """Recordings of a run that was killed at once have no such number."""
    assert "MSR906" in {rule.code for rule in judge(_case(None))[1]}
