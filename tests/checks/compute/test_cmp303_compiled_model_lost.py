"""CMP303: compiled before, eager after."""

from __future__ import annotations

from ckpt_doctor.checks.engine import judge
from tests.builders import control, event, make_case, resumed

COMPILED = {"compiled.frames": 3}
SLOWER = {"forward": 0.006, "backward": 0.008}


def test_no_compiled_frames_after_the_resume_and_slower_steps() -> None:
    """Forward and backward grew, and nothing is compiled any more."""
    before = control(values=COMPILED, events=[event("compile", 0, 1.0)])
    findings, _ = judge(make_case(before, resumed(0.017, parts=SLOWER)))
    assert [f.code for f in findings] == ["CMP303"]


def test_still_compiled_is_no_finding() -> None:
    """Slower steps of a compiled model have another cause."""
    compiled = [event("compile", 0, 1.0)]
    after = resumed(0.017, parts=SLOWER, values=COMPILED, events=compiled)
    findings, _ = judge(make_case(control(values=COMPILED, events=compiled), after))
    assert [f.code for f in findings] == ["CMP319"]


def test_a_burst_of_recompiles_that_ends_is_a_fall_back_to_eager() -> None:
    """Nine recompiles at the start, none later, and slower steps ever since."""
    burst = [event("compile", i, 0.01, reason="guard") for i in range(9)]
    before = control(values=COMPILED, events=[event("compile", 0, 1.0)])
    after = resumed(0.017, parts=SLOWER, values=COMPILED, events=burst)
    findings, _ = judge(make_case(before, after))
    assert [f.code for f in findings] == ["CMP303"]
