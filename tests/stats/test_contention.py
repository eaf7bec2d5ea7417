"""What stood in the way of the runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.stats.alignment import align
from ckpt_doctor.stats.contention import contention, interference, stretch_ratio
from tests.builders import control, make_run, resumed


def test_others_use_is_what_the_machine_did_beyond_the_run() -> None:
    """With other processes on 60 % of the machine during the turns, that is what is found."""
    alignment = align(control(other_cpu_ratio=0.6), resumed(other_cpu_ratio=0.6), (0, 0))
    around = contention(alignment.before, alignment.after)
    assert around.other_cpu_ratio_after == pytest.approx(0.6, abs=0.03)
    assert around.other_cpu_ratio_before == pytest.approx(0.6, abs=0.03)


def test_waiting_for_a_cpu_is_per_second_at_work() -> None:
    """3 ms of run-queue delay in steps of 10 ms are 0.3 s per s."""
    alignment = align(control(), resumed(sampled={"run_queue_s": 0.003}), (0, 0))
    around = contention(alignment.before, alignment.after)
    assert around.run_queue_ratio_after == pytest.approx(0.3, rel=0.05)
    assert around.run_queue_ratio_before == pytest.approx(0.01, rel=0.1)


def test_without_samples_nothing_is_known() -> None:
    """A plain machine without counters is not a quiet one."""
    before, after = make_run([1.0] * 50), make_run([1.0] * 50, arm="after")
    alignment = align(before, after, (0, 0))
    assert contention(alignment.before, alignment.after).run_queue_ratio_after is None


def test_a_control_that_slows_down_beside_the_resumed_run_is_interfered_with() -> None:
    """Alone 10 ms, beside it 15 ms: the ratio and its interval say so."""
    times = [0.010] * 60 + [0.010] * 40 + [0.015] * 100
    run = make_run(times, origin=60, turn_steps=20, alone_turns=5, sampled={"physical_read_bytes": 0})
    arm = align(run, resumed(), (0, 0)).before
    seen = interference(arm)
    assert seen is not None
    assert seen.ratio.value == pytest.approx(1.5, rel=0.01)
    assert seen.ratio.low > 1.4
    assert seen.alone_physical_bytes_per_step == 0


def test_without_both_kinds_of_turns_there_is_no_interference_to_see() -> None:
    """A control that was never alone has nothing to be compared with."""
    assert interference(align(control(), resumed(), (0, 0)).before) is None


def _stretch(parts: dict[str, list[float]], **counters: list[float]) -> float | None:
    count = len(next(iter(parts.values())))
    run = make_run([1.0] * count, parts=parts, counters=counters)
    after = make_run([1.0] * count, arm="after", parts=parts)
    return stretch_ratio(align(run, after, (0, 0)).before)


def test_how_much_longer_the_usual_step_takes_than_the_quickest() -> None:
    """Even steps are not stretched, a few stalls do not matter, and a machine shared all the time does."""
    assert _stretch({"forward": [0.1] * 60, "backward": [0.2] * 60}) == pytest.approx(1.0)
    assert _stretch({"forward": [0.1] * 9 + [5.0] + ([0.1] * 9 + [5.0]) * 5}) == pytest.approx(1.0)
    assert _stretch({"backward": [0.1, 0.3, 0.3, 0.2] * 15}) == pytest.approx(2.5)


def test_steps_with_more_work_are_not_stretched() -> None:
    """Where the work of each step is known, it is time per work that counts."""
    parts = {"backward": [0.1, 0.3, 0.3, 0.2] * 15}
    assert _stretch(parts, multiply_adds=[1.0, 3.0, 3.0, 2.0] * 15) == pytest.approx(1.0)
    assert _stretch(parts, device_busy_s=[0.1, 0.1, 0.1, 0.1] * 15) == pytest.approx(1.0)


def test_few_steps_tell_nothing_of_the_quickest() -> None:
    """A tenth of a handful is no step at all."""
    assert _stretch({"backward": [0.1] * 15}) is None


def test_the_stretch_is_told_where_nothing_better_is_known() -> None:
    """Where the machine was watched, that counts."""
    alignment = align(control(), resumed(), (0, 0))
    assert contention(alignment.before, alignment.after).stretch_ratio_before is None
    alone = [make_run([1.0] * 60, arm=arm, parts={"forward": 0.5}) for arm in ("before", "after")]
    alignment = align(*(replace(run, samples=(), host=()) for run in alone), (0, 0))
    assert contention(alignment.before, alignment.after).stretch_ratio_after == pytest.approx(1.0)
