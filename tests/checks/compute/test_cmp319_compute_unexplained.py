"""CMP319: slower, and nothing says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Location, Side, Status
from ckpt_doctor.facts.run import SourceLine, StackProfile
from tests.builders import control, make_case, one, resumed

BUSY: dict[str, Any] = {"other_cpu_ratio": 0.7, "sampled": {"run_queue_s": 0.003}}


def test_the_user_s_line_that_grew_is_named_with_its_time() -> None:
    """A history serialised in each step: no rule knows it, its line does."""
    after = resumed(
        0.018, counters={"user_s": 0.017}, lines={("train.py", 3): 0.002, ("train.py", 77): 0.008}
    )
    case = make_case(control(lines={("train.py", 3): 0.002}), after)
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["CMP319"]
    assert findings[0].location == Location("train.py", 77)
    grown = [e for e in findings[0].evidence if "train.py:77" in e.what]
    assert grown[0].value == pytest.approx(0.008, rel=0.05)
    verdict = decide(case, findings)
    assert (verdict.status, verdict.side) == (Status.SLOWER, Side.NOT_ESTABLISHED)
    assert "not established" in verdict.sentence


@pytest.mark.parametrize("grown", ["backward", "optimizer"])
def test_named_parts_are_the_compute_side(grown: str) -> None:
    """What grows in backward or in the optimizer is computing, whatever the cause."""
    after = resumed(0.018, parts={grown: 0.012}, counters={"user_s": 0.017})
    assert one(judge(make_case(control(), after))[0], "CMP319").side is Side.COMPUTE


@pytest.mark.parametrize(("function", "side"), [("Module._call_impl", "compute"), ("log", "not_established")])
def test_stacks_tell_what_the_rest_of_the_step_is(function: str, side: str) -> None:
    """Without a loader forward lies in the rest of the step: there calls of modules are computing."""
    plain = {"batches": 0, "samples": 0, "elements": 0}
    usual: dict[str, Any] = {"lines": {("train.py", 3): 0.009}}
    before = control(counters=plain, **usual)
    slow = resumed(
        0.018, counters={**plain, "user_s": 0.017}, lines={**usual["lines"], ("train.py", 9): 0.008}
    )
    runs = [
        replace(run, stacks=(replace(run.stacks[0], stacks=_stacks(run.stacks[0], function)),))
        for run in (before, slow)
    ]
    assert one(judge(make_case(*runs))[0], "CMP319").side.value == side


def _stacks(profile: StackProfile, function: str) -> dict[tuple[SourceLine, ...], float]:
    """Whole stacks of a profile: its line 9 was called from some function."""
    caller = SourceLine("module.py", 1, function)
    return {((caller, line) if line.line == 9 else (line,)): s for line, s in profile.lines.items()}


def test_lines_and_parts_that_matter_are_told_first() -> None:
    """Parts that grew by next to nothing do not push the line out of what a screen holds."""
    more = {"backward": 0.0041, "optimizer": 0.0011, "saving": 0.0001}
    after = resumed(0.018, parts=more, counters={"user_s": 0.017}, lines={("train.py", 77): 0.009})
    found = one(judge(make_case(control(lines={("train.py", 3): 0.01}), after))[0], "CMP319")
    told = [evidence.what for evidence in found.evidence[:3]]
    assert told[:2] == ["rest grew by", "CPU time of the process grew by"]
    assert "train.py:77" in told[2]


def test_two_causes_are_two_findings_with_their_shares() -> None:
    """4 ms of a slower optimizer and 4 ms of something unknown."""
    after = resumed(0.018, parts={"optimizer": 0.005}, values={"optimizer.0.group.0.foreach": False})
    findings, _ = judge(make_case(control(), after))
    assert one(findings, "CMP306").share_ratio == pytest.approx(0.5, abs=0.05)
    assert one(findings, "CMP319").share_ratio == pytest.approx(0.5, abs=0.05)


def test_below_the_effect_floor_nothing_is_reported() -> None:
    """Ten percent can be what identical processes differ by, and the verdict says so."""
    case = make_case(control(), resumed(0.011))
    findings, _ = judge(case)
    assert findings == ()
    verdict = decide(case, findings)
    assert verdict.status is Status.SAME
    assert "1.15" in verdict.sentence


def test_on_a_busy_machine_the_clock_alone_proves_nothing() -> None:
    """A doubled step is inconclusive while others use the cores and the process did no more work."""
    case = make_case(control(**BUSY), resumed(0.020, **BUSY))
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["HST402"]
    verdict = decide(case, findings)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.next_step is not None


def test_on_a_busy_machine_cpu_time_of_one_thread_does_prove_it() -> None:
    """Twice the step time with twice the CPU time on one thread is the process's own."""
    case = make_case(control(**BUSY), resumed(0.020, counters={"user_s": 0.019}, **BUSY))
    findings, _ = judge(case)
    assert decide(case, findings).cause == "CMP319"


def test_a_counter_proves_its_cause_on_a_busy_machine_too() -> None:
    """Bytes and settings are not moved by neighbours."""
    after = resumed(0.020, parts={"optimizer": 0.011}, values={"optimizer.0.group.0.foreach": False}, **BUSY)
    case = make_case(control(**BUSY), after)
    assert decide(case, judge(case)[0]).cause == "CMP306"


def test_on_an_asynchronous_device_the_side_is_not_established() -> None:
    """The host's wait for data may be hidden behind the device's work."""
    placed = {"model.devices": "cuda:1000"}
    case = make_case(control(values=placed), resumed(0.018, parts={"data_wait": 0.009}, values=placed))
    findings, not_evaluated = judge(case)
    assert one(findings, "CMP319").side is Side.NOT_ESTABLISHED
    assert "DAT209" in {rule.code for rule in not_evaluated}
