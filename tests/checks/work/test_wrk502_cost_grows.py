"""WRK502: steps become ever more expensive."""

from __future__ import annotations

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Location, Side
from ckpt_doctor.facts.run import RunRecord
from tests.builders import PARTS, control, make_case, make_run, noisy, resumed


def _growing(lines: dict[tuple[str, int], float] | None = None) -> RunRecord:
    times = [t + 0.0001 * i for i, t in enumerate(noisy(0.01, 200, seed=3))]
    return make_run(times, arm="after", parts=PARTS, turn_steps=20, lines=lines)


def test_steps_that_grow_are_told_with_the_line_that_grew() -> None:
    """From 10 to 30 ms within the window, by one line."""
    case = make_case(control(lines={("t.py", 1): 0.001}), _growing({("t.py", 50): 0.01}))
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["WRK502"]
    assert findings[0].shape is Shape.GROWING
    assert findings[0].location == Location("t.py", 50)
    assert decide(case, findings).side is Side.WORK


def test_growth_of_the_optimizers_own_step_is_not_the_scripts() -> None:
    """No list of the script's lies in torch's optimizer step: what grows there is told as compute."""
    more = [0.0001 * i for i in range(200)]
    times = [t + each for t, each in zip(noisy(0.01, 200, seed=3), more, strict=True)]
    optimizer = [PARTS["optimizer"] + each for each in more]
    after = make_run(times, arm="after", parts={**PARTS, "optimizer": optimizer}, turn_steps=20)
    case = make_case(control(), after)
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["CMP319"]
    assert decide(case, findings).side is Side.COMPUTE


def test_a_steady_slowdown_does_not_grow() -> None:
    """Slower from the first step on is another finding."""
    assert [f.code for f in judge(make_case(control(), resumed(0.02)))[0]] == ["CMP319"]
