"""WRK501: more work per step."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Side
from tests.builders import SAVED_AT, control, event, make_case, resumed

DOUBLE = {"data_wait": 0.002, "forward": 0.006, "backward": 0.008}


def test_twice_the_elements_with_parts_that_grew_is_work() -> None:
    """Batches of twice the size take twice as long, and no part is to blame."""
    case = make_case(control(), resumed(0.018, parts=DOUBLE, counters={"elements": 2000, "samples": 64}))
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["WRK501"]
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert decide(case, findings).side is Side.WORK


def test_more_micro_batches_per_step_are_work_too() -> None:
    """An accumulation count that came back doubled."""
    twice = {"backwards": 2, "batches": 2, "elements": 2000}
    assert [f.code for f in judge(make_case(control(), resumed(0.018, parts=DOUBLE, counters=twice)))[0]] == [
        "WRK501"
    ]


def test_more_elements_at_the_same_speed_are_not_reported() -> None:
    """Overhead dominates small models."""
    assert judge(make_case(control(), resumed(counters={"elements": 2000})))[0] == ()


def test_the_same_work_in_more_time_is_something_else() -> None:
    """No counter of work moved."""
    assert [f.code for f in judge(make_case(control(), resumed(0.018, parts=DOUBLE)))[0]] == ["CMP319"]


def test_longer_inputs_without_a_loader_are_work() -> None:
    """Where the script draws its batches itself, the model's input shows that they grew."""
    absent = dict.fromkeys(("elements", "samples", "batches"), 0)
    before = control(
        counters=absent, events=[event("model_input", SAVED_AT + i, elements=512) for i in range(20)]
    )
    inputs = [event("model_input", i, elements=1024) for i in range(20)]
    findings, _ = judge(make_case(before, resumed(0.018, parts=DOUBLE, counters=absent, events=inputs)))
    assert [f.code for f in findings if f.code != "DAT209"][:1] == ["WRK501"]
