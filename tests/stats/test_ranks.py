"""Several ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.stats.comparison import compare_runs
from ckpt_doctor.stats.ranks import rank_deltas, slow_rank
from tests.builders import make_run


def _two(waits: tuple[float, float], step_s: float, arm: str) -> RunRecord:
    """Two ranks of the same step time; what one has less of data wait it has more of backward."""
    runs = [
        make_run(
            [step_s] * 60, arm=arm, rank=rank, parts={"data_wait": wait, "backward": step_s - wait - 0.002}
        )
        for rank, wait in enumerate(waits)
    ]
    return replace(runs[0], ranks=(runs[0].ranks[0], runs[1].ranks[0]))


def test_the_rank_that_waits_least_in_backward_is_the_slow_one() -> None:
    """Both ranks take 18 ms, and rank 1 spends 8 ms of them on data while rank 0 waits for it."""
    after = _two((0.001, 0.009), 0.018, "after")
    assert slow_rank(after) == 1
    assert slow_rank(_two((0.001, 0.001), 0.010, "before")) is None
    assert slow_rank(make_run([1.0] * 20)) is None


def test_the_slow_rank_is_the_one_that_is_compared() -> None:
    """The cause is looked for where it is, not in the rank that waits."""
    comparison = compare_runs(_two((0.001, 0.001), 0.010, "before"), _two((0.001, 0.009), 0.018, "after"))
    assert comparison.slow_rank == 1
    assert comparison.after.rank.rank == 1
    assert comparison.part("data_wait").delta.value == pytest.approx(0.008)
    assert comparison.part("backward").delta.value == pytest.approx(0.0, abs=1e-9)


def test_each_rank_has_its_times_on_both_sides() -> None:
    """A rank that only one run has is unknown on the other side."""
    before, after = make_run([0.01] * 60), _two((0.001, 0.009), 0.018, "after")
    deltas = rank_deltas(before, after)
    assert [d.rank for d in deltas] == [0, 1]
    assert deltas[0].before_step_s == pytest.approx(0.01)
    assert deltas[1].before_step_s is None
    assert deltas[1].after_busy_s == pytest.approx(0.018)
    assert deltas[0].after_busy_s == pytest.approx(0.010)
