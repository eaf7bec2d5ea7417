"""DAT207: data are prepared again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Confidence, Location
from ckpt_doctor.facts.run import RunRecord
from tests.builders import RESUMED_STEPS, control, event, make_case, make_run, one, resumed

CACHE = "/data/tokens.npy"
OLD, NEW = ("data.py", 3), ("data.py", 40)
WORKING: dict[str, Any] = {"parts": {"data_wait": 0.009}, "counters": {"user_s": 0.017}}


def _slow_start(seconds: float, user_s: float, **files: Any) -> RunRecord:
    """A resumed run whose first step takes so long, and so much CPU time."""
    usual = resumed()
    steps = usual.ranks[0].steps
    times = [seconds, *(steps.step_s(i) for i in range(1, RESUMED_STEPS))]
    counters = {name: [*column] for name, column in steps.counters.items()}
    counters["user_s"][0] = user_s
    run = make_run(times, arm="after", counters=counters, turn_steps=20)  # type: ignore[arg-type]
    return replace(run, **files)


def test_a_cache_that_is_made_again_costs_the_start() -> None:
    """Eight seconds of CPU time, and a file that the control found."""
    before = replace(control(), read_files=frozenset({CACHE}))
    made = {"read_files": frozenset({CACHE}), "written_files": frozenset({CACHE})}
    case = make_case(before, _slow_start(8.0, 7.5, **made))
    findings, _ = judge(case)
    found = one(findings, "DAT207")
    assert (found.shape, found.confidence) == (Shape.ONE_TIME, Confidence.CONFIRMED)
    assert found.delta_s == pytest.approx(8.0, abs=0.1)
    assert CACHE in [e.value for e in found.evidence]
    assert decide(case, findings).cause == "DAT207"


def test_a_start_that_waits_is_not_proved_by_the_cpu() -> None:
    """The files are there, the work is not."""
    before = replace(control(), read_files=frozenset({CACHE}))
    made = {"read_files": frozenset({CACHE}), "written_files": frozenset({CACHE})}
    findings, _ = judge(make_case(before, _slow_start(8.0, 0.1, **made)))
    assert one(findings, "DAT207").confidence is Confidence.SUPPORTED


def test_a_slow_start_without_files_is_something_else() -> None:
    """Building the model may take long as well."""
    assert "DAT207" not in {f.code for f in judge(make_case(control(), _slow_start(8.0, 7.5)))[0]}


def test_a_cache_that_both_runs_make_is_no_news() -> None:
    """A file that the fresh run writes as well is not there for a resume."""
    both = {"read_files": frozenset({CACHE}), "written_files": frozenset({CACHE})}
    findings, _ = judge(make_case(replace(control(), **both), _slow_start(8.0, 7.5, **both)))
    assert "DAT207" not in {f.code for f in findings}


def test_lines_that_the_control_does_not_run_make_every_step_longer() -> None:
    """Decoding in each step what the control has decoded once."""
    after = resumed(0.018, lines={OLD: 0.010, NEW: 0.008}, **WORKING)
    findings, _ = judge(make_case(control(lines={OLD: 0.010}), after))
    assert [f.code for f in findings] == ["DAT207"]
    assert findings[0].location == Location(*NEW)


def test_a_line_that_only_takes_longer_is_not_new() -> None:
    """The control runs it as well: its growth is not explained by that."""
    after = resumed(0.018, lines={OLD: 0.010, NEW: 0.012}, **WORKING)
    assert [f.code for f in judge(make_case(control(lines={OLD: 0.010, NEW: 0.004}), after))[0]] == ["DAT209"]


def test_a_new_line_that_waits_is_not_work() -> None:
    """Without CPU time nothing is prepared."""
    after = resumed(0.018, parts={"data_wait": 0.009}, lines={OLD: 0.010, NEW: 0.008})
    assert [f.code for f in judge(make_case(control(lines={OLD: 0.010}), after))[0]] == ["DAT209"]


def test_work_that_moved_out_of_workers_is_no_repetition() -> None:
    """Without workers the samples are prepared in lines of the process itself, as before in the workers."""
    after = resumed(0.018, lines={OLD: 0.010, NEW: 0.008}, values={"loader.0.num_workers": 0}, **WORKING)
    codes = [f.code for f in judge(make_case(control(lines={OLD: 0.010}), after))[0]]
    assert "DAT207" not in codes
    assert "DAT205" in codes


def test_more_batches_are_more_work() -> None:
    """A replay that never ends runs the user's lines too."""
    twice = {"batches": 2, "elements": 2000, "samples": 64, "user_s": 0.017}
    after = resumed(
        0.018, parts={"data_wait": 0.009}, counters=twice, lines={NEW: 0.008}, events=[event("loader", 0)]
    )
    assert "DAT207" not in {f.code for f in judge(make_case(control(), after))[0]}
