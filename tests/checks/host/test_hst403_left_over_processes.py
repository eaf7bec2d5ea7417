"""HST403: processes that an earlier run left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Severity, Side
from ckpt_doctor.facts.run import LeftOver, RunRecord
from tests.builders import control, make_case, one, resumed

HOG = LeftOver(4711, "python train.py --out runs/x", 1.7e9, 200_000_000, holds_gpu=False)
EVERYWHERE: dict[str, Any] = {"parts": {"forward": 0.005, "backward": 0.007, "optimizer": 0.002}}


def _with(run: RunRecord, *left_overs: LeftOver) -> RunRecord:
    return replace(run, left_overs=left_overs)


def test_cpu_that_they_take_from_the_resumed_run_is_the_cause() -> None:
    """Two of them run all the time, every part is longer, and the run waits for a CPU."""
    before = control(sampled={"left_over_cpu_s": 0.0})
    taken = {"left_over_cpu_s": 0.025, "run_queue_s": 0.006}
    case = make_case(before, _with(resumed(0.016, sampled=taken, **EVERYWHERE), HOG))
    findings, _ = judge(case)
    found = one(findings, "HST403")
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.CONFIRMED)
    assert found.share_ratio == pytest.approx(1.0, abs=0.1)
    assert any("4711" in e.what for e in found.evidence)
    assert (decide(case, findings).side, decide(case, findings).cause) == (Side.HOST, "HST403")
    assert [f.code for f in findings] == ["HST403"]


def test_they_explain_no_more_than_their_cpu_time() -> None:
    """One that used 2 ms per step cannot have cost 6 ms: the rest stays open."""
    taken = {"left_over_cpu_s": 0.002}
    after = _with(resumed(0.016, sampled=taken, counters={"user_s": 0.015}, **EVERYWHERE), HOG)
    findings, _ = judge(make_case(control(sampled={"left_over_cpu_s": 0.0}), after))
    assert one(findings, "HST403").share_ratio == pytest.approx(0.33, abs=0.1)
    assert one(findings, "CMP319").share_ratio == pytest.approx(0.67, abs=0.1)


def test_beside_both_runs_alike_they_are_a_warning() -> None:
    """They slow both down; the resume is not to blame."""
    busy = {"left_over_cpu_s": 0.005}
    case = make_case(_with(control(sampled=busy), HOG), _with(resumed(sampled=busy), HOG))
    found = one(judge(case)[0], "HST403")
    assert (found.severity, found.share_ratio) == (Severity.WARNING, None)


def test_idle_ones_are_mentioned_and_those_that_hold_a_gpu_are_a_warning() -> None:
    """Memory of a device is taken whether they work or not."""
    idle = {"left_over_cpu_s": 0.0}
    arms = (control(sampled=idle), resumed(sampled=idle))
    assert one(judge(make_case(*(_with(arm, HOG) for arm in arms)))[0], "HST403").severity is Severity.INFO
    holder = replace(HOG, holds_gpu=True)
    found = one(judge(make_case(*(_with(arm, holder) for arm in arms)))[0], "HST403")
    assert found.severity is Severity.WARNING


def test_where_there_are_none_nothing_is_said() -> None:
    """A quiet machine has no finding."""
    assert judge(make_case(control(), resumed()))[0] == ()
