"""WRK503: more saves."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Location, Side
from ckpt_doctor.facts.run import Event, RunRecord
from tests.builders import PARTS, control, event, make_case, make_run, noisy, one, resumed

SAVE_S = 0.04


def _saving(every: int) -> RunRecord:
    """A resumed run that saves in every nth step."""
    saves = range(every - 1, 200, every)
    column = [SAVE_S if i in saves else 0.0 for i in range(200)]
    return make_run(
        [a + b for a, b in zip(noisy(0.01, 200, seed=2), column, strict=True)],
        arm="after",
        parts={**PARTS, "saving": column},
        events=[event("save", i, SAVE_S, path="c.pt", file="train.py", line=80) for i in saves],
        turn_steps=20,
        values={"threads.intra_op": 1},
    )


def test_a_save_in_every_fifth_step_is_told_with_its_line() -> None:
    """8 ms per step go into saves; the control saves every hundred steps."""
    case = make_case(control(parts={"saving": 0.0}, events=_rare()), _saving(5))
    findings, _ = judge(case)
    found = one(findings, "WRK503")
    assert (found.confidence, found.location) == (Confidence.CONFIRMED, Location("train.py", 80))
    assert found.share_ratio == pytest.approx(1.0, abs=0.1)
    verdict = decide(case, findings)
    assert (verdict.side, verdict.cause) == (Side.WORK, "WRK503")


def test_saves_that_only_take_longer_are_something_else() -> None:
    """As often as before, each ten times as long."""
    before = [event("save", i, 0.004) for i in range(64, 260, 5)]
    case = make_case(control(parts={"saving": 0.0008}, events=before), _saving(5))
    codes = [f.code for f in judge(case)[0]]
    assert "WRK503" not in codes
    assert "CMP319" in codes


def test_more_saves_that_cost_nothing_are_not_blamed() -> None:
    """Small checkpoints, or saves in the background."""
    after = resumed(events=[event("save", i, 1e-4) for i in range(4, 200, 5)])
    assert judge(make_case(control(events=_rare()), after))[0] == ()


def test_one_save_more_is_where_the_window_begins() -> None:
    """The interval is longer than the window."""
    after = resumed(0.018, counters={"user_s": 0.017}, events=[event("save", 100, 1.6)])
    assert "WRK503" not in {f.code for f in judge(make_case(control(), after))[0]}


def _rare() -> list[Event]:
    return [event("save", 59, SAVE_S), event("save", 159, 1e-4)]


def test_what_is_done_around_a_save_belongs_to_it() -> None:
    """Beside 40 ms of saving a step with a save takes 20 ms longer in the rest: both come with each save."""
    often = range(4, 200, 5)
    saving = [SAVE_S if i in often else 0.0 for i in range(200)]
    times = [a + 1.5 * b for a, b in zip(noisy(0.01, 200, seed=2), saving, strict=True)]
    events = [event("save", i, SAVE_S, path="c.pt", file="train.py", line=80) for i in often]
    after = make_run(
        times,
        arm="after",
        parts={**PARTS, "saving": saving},
        events=events,
        turn_steps=20,
        values={"threads.intra_op": 1},
    )
    findings, _ = judge(make_case(control(parts={"saving": 0.0}), after))
    assert [f.code for f in findings] == ["WRK503"]
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.1)
    assert findings[0].delta_s == pytest.approx(0.012, abs=0.002)
