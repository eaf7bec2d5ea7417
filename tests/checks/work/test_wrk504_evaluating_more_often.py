"""WRK504: more evaluation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Side
from ckpt_doctor.facts.run import RunRecord
from tests.builders import (
    CONTROL_STEPS,
    PARTS,
    RESUMED_STEPS,
    control,
    event,
    make_case,
    make_run,
    noisy,
    one,
    resumed,
)

OFTEN = range(4, RESUMED_STEPS, 10)
RARELY = range(90, CONTROL_STEPS, 200)


def _evaluating(
    steps: Collection[int],
    batches: int,
    *,
    count: int,
    arm: str,
    model_s: float = 0.003,
    wait_s: float = 0.001,
    starts: bool = False,
) -> RunRecord:
    """A run whose steps here and there draw so many batches more, each with a forward pass."""
    extra = [batches if i in steps else 0 for i in range(count)]
    return make_run(
        [t + n * (model_s + wait_s) for t, n in zip(noisy(0.01, count, seed=len(arm)), extra, strict=True)],
        arm=arm,
        origin=60 if arm == "before" else 0,
        parts={**PARTS, "data_wait": [0.001 + n * wait_s for n in extra]},
        counters={
            "batches": [1 + n for n in extra],
            "elements": [1000 * (1 + n) for n in extra],
            "backwards": 1,
            "optimizer_steps": 1,
        },
        events=[event("worker_start", i, 0.01, worker=0) for i in steps if starts],
        turn_steps=20,
        values={"threads.intra_op": 1},
    )


def _before(steps: Collection[int] = RARELY, batches: int = 10, **changes: Any) -> RunRecord:
    return _evaluating(steps, batches, count=CONTROL_STEPS, arm="before", **changes)


def _after(steps: Collection[int] = OFTEN, batches: int = 10, **changes: Any) -> RunRecord:
    return _evaluating(steps, batches, count=RESUMED_STEPS, arm="after", **changes)


def test_ten_batches_every_ten_steps_are_told_as_evaluation() -> None:
    """4 ms per step where the control evaluates every 200 steps; the loader's time for them counts too."""
    case = make_case(_before(), _after())
    findings, _ = judge(case)
    found = one(findings, "WRK504")
    assert found.confidence is Confidence.CONFIRMED
    assert found.delta_s == pytest.approx(0.004 * (1 - 10 / 200), rel=0.1)
    assert {"DAT202", "WRK501", "CMP319", "DAT209"}.isdisjoint(f.code for f in findings)
    verdict = decide(case, findings)
    assert (verdict.side, verdict.cause) == (Side.WORK, "WRK504")


def test_an_evaluation_on_ten_times_as_many_batches() -> None:
    """As often as before, but without the limit on its batches."""
    often = range(64, CONTROL_STEPS, 10)
    findings, _ = judge(make_case(_before(often, batches=1), _after(batches=10)))
    assert one(findings, "WRK504").delta_s == pytest.approx(0.0036, rel=0.1)


def test_an_evaluation_in_every_step() -> None:
    """Where no step only trains, those of the control say what that takes."""
    findings, _ = judge(make_case(_before(), _after(range(RESUMED_STEPS), batches=1)))
    assert one(findings, "WRK504").delta_s == pytest.approx(0.004 * (1 - 10 / 200), rel=0.15)


def test_workers_that_each_evaluation_starts_are_its_doing() -> None:
    """The loader of the evaluation has a worker, which lives as long as the evaluation."""
    findings, _ = judge(make_case(_before(starts=True), _after(starts=True)))
    assert [f.code for f in findings] == ["WRK504"]
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.1)


def test_batches_that_the_model_is_not_run_on_are_thrown_away() -> None:
    """They take time in the loader only: that is a replay."""
    findings, _ = judge(make_case(_before(), _after(model_s=0.00001, wait_s=0.005)))
    assert [f.code for f in findings] == ["DAT202"]


def test_one_evaluation_more_is_where_the_window_begins() -> None:
    """The interval is longer than the window."""
    findings, _ = judge(make_case(_before(()), _after((100,), batches=100)))
    assert "WRK504" not in {f.code for f in findings}


def test_evaluation_as_before_is_not_blamed_for_slower_steps() -> None:
    """Every ten steps on both sides; what grew is something else."""
    before, after = _before(range(64, CONTROL_STEPS, 10)), _after()
    slower = resumed(0.018, counters={"user_s": 0.017})
    assert "WRK504" not in {f.code for f in judge(make_case(before, after))[0]}
    assert "WRK504" not in {f.code for f in judge(make_case(control(), slower))[0]}
