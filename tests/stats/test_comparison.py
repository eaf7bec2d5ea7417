"""Two runs laid side by side."""

from __future__ import annotations

import random

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.errors import RecordingError
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Case, Severity, Status
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.stats.comparison import compare_runs
from tests.builders import COUNTERS, PARTS, SAMPLED, VALUES, control, make_case, make_run, resumed


def test_a_slowdown_is_measured_with_its_interval_and_shape() -> None:
    """1.8 times the step time is found within a few percent."""
    comparison = compare_runs(control(), resumed(0.018))
    assert comparison.ratio.low < 1.8 < comparison.ratio.high
    assert comparison.ratio.high - comparison.ratio.low < 0.15
    assert comparison.shape is Shape.STEADY
    assert comparison.delta_s == pytest.approx(0.008, rel=0.05)
    assert comparison.after.samples_per_s == pytest.approx(32 / 0.018, rel=0.05)
    assert comparison.paired


def test_the_effect_floor_rises_where_the_clock_can_be_trusted_less() -> None:
    """Fixed heaps lower it, busy neighbours and arms that took no turns raise it."""
    steady = {"env.MALLOC_MMAP_THRESHOLD_": "33554432"}
    usual = compare_runs(control(), resumed()).effect_floor_ratio
    fixed = compare_runs(control(values=steady), resumed(values=steady)).effect_floor_ratio
    busy = compare_runs(control(other_cpu_ratio=0.8), resumed(other_cpu_ratio=0.8)).effect_floor_ratio
    apart = compare_runs(control(turn_steps=None), resumed(turn_steps=None)).effect_floor_ratio
    assert fixed < usual < apart
    assert busy > usual + 0.15


def test_a_control_that_the_resumed_run_makes_read_again_is_judged_by_its_time_alone() -> None:
    """Beside it both arms read cold; alone the control read nothing."""
    cold = [0] * 100 + [500_000] * 160
    times = [0.010] * 100 + [0.018] * 160
    before = make_run(times, origin=60, turn_steps=20, alone_turns=5, sampled={"physical_read_bytes": cold})
    after = make_run([0.018] * 200, arm="after", turn_steps=20, sampled={"physical_read_bytes": 500_000})
    comparison = compare_runs(before, after)
    assert comparison.interference is not None
    assert not comparison.paired
    assert comparison.ratio.value == pytest.approx(1.8, rel=0.01)


def test_a_machine_that_just_became_slower_is_no_interference() -> None:
    """Without a counter that says why, the turns beside each other are what counts."""
    before = make_run([0.010] * 100 + [0.018] * 160, origin=60, turn_steps=20, alone_turns=5)
    after = make_run([0.018] * 200, arm="after", turn_steps=20, alone_turns=2)
    assert compare_runs(before, after).ratio.value == pytest.approx(1.0, rel=0.05)


def test_a_run_without_steps_is_told_in_one_line() -> None:
    """There is nothing to compare, and the hint says what to do."""
    with pytest.raises(RecordingError, match="rec/after: no optimizer step"):
        compare_runs(control(), make_run([], arm="after"))


def test_missing_signals_are_told_with_their_reason() -> None:
    """What either side could not measure reaches the comparison."""
    comparison = compare_runs(control(not_measured={"compile": "torch 2.2 has no callbacks"}), resumed())
    assert comparison.not_measured["compile"] == "torch 2.2 has no callbacks"


def test_identical_code_is_hardly_ever_called_slower() -> None:
    """80 pairs of equal runs under moods, stalls and process luck: not one is called slower."""
    alarms = 0
    for seed in range(80):
        rng = random.Random(seed)
        luck = [rng.gauss(1.0, 0.025) for _ in range(2)]
        moods = [1.0 + 0.3 * rng.random() ** 3 for _ in range(13)]
        arms = []
        for arm, factor in zip((control, resumed), luck, strict=True):
            run = arm(0.01 * factor, seed=2 * seed + (arm is resumed))
            arms.append(_shaken(run, moods, rng))
        case = Case(comparison=compare_runs(*arms))
        findings, _ = judge(case)
        alarms += any(f.severity is Severity.ERROR for f in findings)
        alarms += decide(case, findings).status is Status.SLOWER
    assert alarms == 0


def test_real_slowdowns_are_found_under_the_same_noise() -> None:
    """1.5 times the step time is called slower in nearly all of 15 noisy pairs."""
    found = 0
    for seed in range(15):
        rng = random.Random(seed)
        moods = [1.0 + 0.3 * rng.random() ** 3 for _ in range(13)]
        before, after = (
            _shaken(control(seed=2 * seed), moods, rng),
            _shaken(resumed(0.015, seed=2 * seed + 1), moods, rng),
        )
        case = make_case(before, after)
        found += decide(case, judge(case)[0]).status is Status.SLOWER
    assert found >= 14


def _shaken(run: RunRecord, moods: list[float], rng: random.Random) -> RunRecord:
    """The same run on a machine with moods by turn, and an accident now and then."""
    steps = run.ranks[0].steps
    offset = (len(steps) - 200) // 20
    times = []
    for i in range(len(steps)):
        stall_s = 0.05 if rng.random() < 0.003 else 0.0
        times.append(steps.step_s(i) * moods[max(0, i // 20 - offset)] + stall_s)
    settings = {"turn_steps": 20, "parts": PARTS, "counters": COUNTERS, "sampled": SAMPLED, "values": VALUES}
    arm = run.meta.arm or "before"
    return make_run(times, arm=arm, origin=run.meta.origin_step or 0, **settings)  # type: ignore[arg-type]
