"""CMP301: compiled again and again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks.compute import cmp301_recompiles as rule
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import CannotTell, Location, Severity
from tests.builders import RESUMED_STEPS, control, event, make_case, one, resumed

FIRST = event("compile", 0, 1.0, cache_hits=1, cache_misses=0)
REASON = "0/0: self.step == 60"


AGAIN = [
    event("compile", i, 0.2, reason=REASON, cache_hits=0, cache_misses=0)
    for i in range(15, RESUMED_STEPS, 10)
]


def test_recompiles_in_the_window_are_a_lasting_cost_with_their_reason() -> None:
    """A guard that fails every tenth step is named, and its seconds are the slowdown."""
    after = resumed(0.03, parts={"compile": 0.02}, events=[FIRST, *AGAIN])
    findings, _ = judge(make_case(control(events=[FIRST]), after))
    found = one(findings, "CMP301")
    assert found.severity is Severity.ERROR
    assert found.share_ratio == pytest.approx(1.0, abs=0.05)
    assert found.remedy.startswith("self.step is a Python number")
    assert ("guards on self.step that failed (19 times)", "self.step == 60") in [
        (e.what, e.value) for e in found.evidence
    ]


def test_the_line_that_reads_the_value_is_the_place() -> None:
    """Where dynamo's reason names a line of the user's, the finding stands there, not in a library."""
    trace = (
        '  File "/home/user/train.py", line 23, in forward\n    x * self.step\n'
        '  File "/venv/site-packages/timm/layer.py", line 9, in forward\n    x'
    )
    again = [
        replace(e, fields={**e.fields, "reason": f"{REASON}\nUser stack trace:\n{trace}"}) for e in AGAIN
    ]
    after = resumed(0.03, parts={"compile": 0.02}, events=[FIRST, *again])
    findings, _ = judge(make_case(control(events=[FIRST]), after))
    assert one(findings, "CMP301").location == Location("/home/user/train.py", 23)


def test_without_a_reason_the_function_is_the_place() -> None:
    """Where torch gives no reason it still says what it compiled, and the general advice stands."""
    place = {"file": "/home/user/train.py", "line": 12}
    again = [replace(e, fields={"trigger": "dynamo", **place}) for e in AGAIN]
    after = resumed(0.03, parts={"compile": 0.02}, events=[FIRST, *again])
    found = one(judge(make_case(control(events=[FIRST]), after))[0], "CMP301")
    assert found.location == Location("/home/user/train.py", 12)
    assert "mark_dynamic" in found.remedy


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
