"""CMP314: longer or more frequent garbage collections."""

from __future__ import annotations

from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Location, Severity, Side
from tests.builders import COUNTERS, PARTS, VALUES, control, event, make_case, make_run, noisy, one, resumed

OBJECTS = "memory.python_blocks"
NONE: dict[str, Any] = {"parts": {"gc": 0.0}, "counters": {"gc_pauses": 0}, "values": {OBJECTS: 200_000}}
EVERY_TENTH = [0.05 if i % 10 == 0 else 0.0 for i in range(200)]


def test_a_collection_in_every_tenth_step_is_told_with_its_line() -> None:
    """5 ms per step in pauses, by a line that the control does not have."""
    pauses = [1 if i % 10 == 0 else 0 for i in range(200)]
    lines = {("t.py", 1): 0.01, ("t.py", 9): 0.005}
    values = {**VALUES, OBJECTS: 200_000}
    times = [a + b for a, b in zip(noisy(0.01, 200, seed=2), EVERY_TENTH, strict=True)]
    after = make_run(
        times,
        arm="after",
        parts={**PARTS, "gc": EVERY_TENTH},
        counters={**COUNTERS, "gc_pauses": pauses},
        values=values,
        turn_steps=20,
        lines=lines,
    )
    case = make_case(control(lines={("t.py", 1): 0.01}, **NONE), after)
    findings, _ = judge(case)
    found = one(findings, "CMP314")
    assert (found.confidence, found.location) == (Confidence.CONFIRMED, Location("t.py", 9))
    assert "gc.collect()" in found.remedy


@pytest.mark.parametrize("compiles_with_it", [True, False])
def test_pauses_of_the_compiler_come_with_its_recompiles(compiles_with_it: bool) -> None:
    """Pauses in the steps that compile are no second error; pauses in other steps are one."""
    compiling = [0.05 if i % 10 == (0 if compiles_with_it else 5) else 0.0 for i in range(200)]
    again = [event("compile", i, 0.05, reason="0/0: self.k == 1") for i in range(200) if compiling[i]]
    times = [sum(each) for each in zip(noisy(0.01, 200, seed=2), EVERY_TENTH, compiling, strict=True)]
    after = make_run(
        times,
        arm="after",
        parts={**PARTS, "gc": EVERY_TENTH, "compile": compiling},
        counters={**COUNTERS, "gc_pauses": 0.1},
        values={**VALUES, OBJECTS: 200_000},
        events=again,
        turn_steps=20,
    )
    before = control(**{**NONE, "parts": {**NONE["parts"], "compile": 0.0}})
    findings, _ = judge(make_case(before, after))
    found = one(findings, "CMP314")
    assert found.severity is (Severity.WARNING if compiles_with_it else Severity.ERROR)
    assert ("CMP301" in found.remedy) is compiles_with_it
    assert one(findings, "CMP301").severity is Severity.ERROR
    assert "CMP319" not in [finding.code for finding in findings]


def test_as_many_pauses_over_more_objects_are_longer() -> None:
    """Ten times the objects, and each collection takes its time."""
    before = control(parts={"gc": 0.001}, counters={"gc_pauses": 0.1}, values={OBJECTS: 200_000})
    after = resumed(0.015, parts={"gc": 0.006}, counters={"gc_pauses": 0.1}, values={OBJECTS: 2_000_000})
    case = make_case(before, after)
    findings, _ = judge(case)
    found = one(findings, "CMP314")
    assert found.share_ratio == pytest.approx(1.0, abs=0.1)
    assert "gc.freeze()" in found.remedy
    assert (decide(case, findings).side, decide(case, findings).cause) == (Side.COMPUTE, "CMP314")


def test_longer_pauses_with_nothing_to_explain_them_are_suspected() -> None:
    """The part grew; why is open."""
    before = control(parts={"gc": 0.001}, counters={"gc_pauses": 0.1}, values={OBJECTS: 200_000})
    after = resumed(0.015, parts={"gc": 0.006}, counters={"gc_pauses": 0.1}, values={OBJECTS: 210_000})
    assert one(judge(make_case(before, after))[0], "CMP314").confidence is Confidence.SUSPECTED


def test_more_objects_without_longer_pauses_are_not_blamed() -> None:
    """The counter moved, its part did not."""
    after = resumed(
        0.015,
        parts={"gc": 0.0, "forward": 0.008},
        counters={"gc_pauses": 0, "user_s": 0.014},
        values={OBJECTS: 2_000_000},
    )
    assert [f.code for f in judge(make_case(control(**NONE), after))[0]] == ["CMP319"]


def test_objects_that_are_not_frozen_any_more_are_gone_through_again() -> None:
    """The first run froze what it had set up; the resumed one forgot."""
    usual: dict[str, Any] = {"counters": {"gc_pauses": 0.1}}
    before = control(parts={"gc": 0.001}, values={OBJECTS: 900_000, "memory.gc_frozen": 500_000}, **usual)
    after = resumed(0.015, parts={"gc": 0.006}, values={OBJECTS: 900_000, "memory.gc_frozen": 0}, **usual)
    found = one(judge(make_case(before, after))[0], "CMP314")
    assert found.confidence is Confidence.CONFIRMED
    assert "not frozen" in found.summary
