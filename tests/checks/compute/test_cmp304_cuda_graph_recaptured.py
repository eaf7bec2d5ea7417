"""CMP304: CUDA graphs captured again, or lost."""

from __future__ import annotations

from pathlib import Path

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.policy import Policy
from tests.builders import control, event, make_case, resumed

RECORDED = Path(__file__).resolve().parents[3] / "fixtures" / "recordings" / "cuda_graph_recaptured"


def test_captures_in_the_window_with_slower_steps() -> None:
    """A capture every tenth step is the cause of the slower forward."""
    captures = [event("graph_capture", i, 0.05) for i in range(15, 200, 10)]
    after = resumed(0.018, parts={"forward": 0.011}, events=captures)
    assert [f.code for f in judge(make_case(control(), after))[0]] == ["CMP304"]


def test_replays_that_stopped_with_slower_steps() -> None:
    """Graphs that are not launched any more leave eager execution behind."""
    before = control(counters={"graph_replays": 2})
    after = resumed(0.018, parts={"forward": 0.011}, counters={"graph_replays": 0})
    assert [f.code for f in judge(make_case(before, after))[0]] == ["CMP304"]


def test_captures_of_the_start_are_normal() -> None:
    """Graphs have to be captured once."""
    after = resumed(events=[event("graph_capture", i, 0.5) for i in range(3)])
    assert judge(make_case(control(), after))[0] == ()


def test_a_recorded_run_that_captures_every_fourth_step() -> None:
    """The real hooks on torch's own class, over a stand-in for the CUDA runtime, give the verdict."""
    report = doctor.compare(str(RECORDED / "before"), str(RECORDED / "after"), Policy())
    assert report.verdict.cause == "CMP304"
    comparison = report.comparison
    assert comparison is not None
    captures = len(comparison.after.events_within("graph_capture"))
    assert abs(captures - comparison.after.steps / 4) <= 1
    assert not comparison.before.events_within("graph_capture")
