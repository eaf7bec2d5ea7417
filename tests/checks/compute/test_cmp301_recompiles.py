"""CMP301: compiled again and again."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.compute import cmp301_recompiles as rule
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import CannotTell, Severity
from ckpt_doctor.facts.run import Event
from tests.builders import RESUMED_STEPS, control, event, make_case, one, resumed

FIRST = event("compile", 0, 1.0, cache_hits=1, cache_misses=0)
REASON = "self.step == 60"


def _again(steps: range) -> list[Event]:
    return [FIRST, *(event("compile", i, 0.2, reason=REASON, cache_hits=0, cache_misses=0) for i in steps)]


def test_recompiles_in_the_window_are_a_lasting_cost_with_their_reason() -> None:
    """A guard that fails every tenth step is named, and its seconds are the slowdown."""
    at = range(15, RESUMED_STEPS, 10)
    after = resumed(0.03, parts={"compile": 0.02}, events=_again(at))
    findings, _ = judge(make_case(control(events=[FIRST]), after))
    found = one(findings, "CMP301")
    assert found.severity is Severity.ERROR
    assert found.share_ratio == pytest.approx(1.0, abs=0.05)
    assert REASON in found.remedy


def test_compiling_as_often_as_the_control_is_healthy() -> None:
    """A fresh process compiles when it first meets a shape, in the control before its save."""
    events = [FIRST, event("compile", 30, 0.4, reason="size mismatch", cache_hits=1, cache_misses=0)]
    assert judge(make_case(control(events=events), resumed(events=events)))[0] == ()


def test_a_burst_at_the_start_is_a_cost_that_fades() -> None:
    """Six recompiles of a second each, then none: told with its seconds, not as a slower step."""
    burst = [event("compile", i, 1.0, reason=REASON, cache_hits=0, cache_misses=0) for i in range(1, 7)]
    findings, _ = judge(make_case(control(events=[FIRST]), resumed(events=[FIRST, *burst])))
    found = one(findings, "CMP301")
    assert (found.shape, found.share_ratio) == (Shape.DECAYING, None)
    assert found.delta_s == pytest.approx(6.0)


def test_without_compile_events_it_cannot_tell() -> None:
    """A version of torch without the callbacks is said so."""
    case = make_case(control(not_measured={"compile": "no callbacks"}), resumed())
    outcome = rule.find(case)
    assert isinstance(outcome, CannotTell)
    assert "no callbacks" in outcome.why
