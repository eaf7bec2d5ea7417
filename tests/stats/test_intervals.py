"""Intervals of means and ratios."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.facts.comparison import Interval
from ckpt_doctor.stats.intervals import (
    block_length,
    detectable_ratio,
    enough_turns,
    quantile,
    resample_blocks,
    resample_rounds,
    resample_turns,
    student_quantile,
)
from tests.builders import noisy

Rows = list[tuple[float, ...]]


def _rows(times: list[float]) -> Rows:
    return [(t,) for t in times]


def _turns(times: list[float], size: int) -> list[Rows]:
    return [_rows(times[i : i + size]) for i in range(0, len(times), size)]


@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_blocks_cover_the_true_ratio_about_as_often_as_they_say(memory: float) -> None:
    """Of 95 % intervals on autocorrelated steps, nearly 95 % hold the true ratio."""
    trials, held = 120, 0
    for seed in range(trials):
        before = noisy(0.010, 200, seed=2 * seed, spread=0.1, memory=memory)
        after = noisy(0.012, 200, seed=2 * seed + 1, spread=0.1, memory=memory)
        ratio = resample_blocks(_rows(before), _rows(after)).ratio()
        held += ratio.low <= 1.2 <= ratio.high
    assert 0.88 <= held / trials <= 1.0


def test_turns_cover_the_true_ratio_where_both_arms_share_the_machines_moods() -> None:
    """Pairs of turns keep the interval right though a mood of the machine slows both arms by half."""
    trials, held, widths = 80, 0, []
    for seed in range(trials):
        rng = random.Random(seed)
        moods = [rng.choice([1.0, 1.5]) for _ in range(12)]
        before = [
            [(t * m,) for t in noisy(0.01, 20, seed=seed * 99 + i, spread=0.05)] for i, m in enumerate(moods)
        ]
        after = [
            [(t * m,) for t in noisy(0.012, 20, seed=seed * 99 + 50 + i, spread=0.05)]
            for i, m in enumerate(moods)
        ]
        ratio = resample_turns(before, after).ratio()
        held += ratio.low <= 1.2 <= ratio.high
        widths.append(ratio.high - ratio.low)
    assert 0.88 <= held / trials <= 1.0
    assert max(widths) < 0.15


def test_stalls_count_though_the_median_step_is_untouched() -> None:
    """A stall of ten steps' length every twentieth step is seen as the slowdown that it is."""
    before = [0.01] * 200
    after = [0.11 if i % 20 == 0 else 0.01 for i in range(200)]
    ratio = resample_turns(_turns(before, 20), _turns(after, 20)).ratio()
    assert ratio.value == pytest.approx(1.5)
    assert ratio.low > 1.4


def test_one_stall_alone_proves_nothing() -> None:
    """One accident in one turn does not make a slowdown."""
    before = noisy(0.01, 200, seed=1)
    after = noisy(0.01, 200, seed=2)
    after[77] += 1.0
    ratio = resample_turns(_turns(before, 20), _turns(after, 20)).ratio()
    assert ratio.value > 1.4
    assert ratio.low <= 1.02


def test_same_recordings_same_interval() -> None:
    """The resampling is seeded: nothing of it changes between two calls."""
    rows = _rows(noisy(0.01, 100, seed=3))
    assert resample_blocks(rows, rows[::-1]).ratio() == resample_blocks(rows, rows[::-1]).ratio()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(1e-4, 10.0), min_size=3, max_size=40), st.floats(0.5, 3.0))
def test_ratio_is_the_ratio_of_totals_and_lies_in_its_interval(times: list[float], factor: float) -> None:
    """Whatever the steps, the interval holds the ratio of the means."""
    ratio = resample_blocks(_rows(times), _rows([t * factor for t in times])).ratio()
    assert ratio.value == pytest.approx(factor)
    assert ratio.low <= ratio.value <= ratio.high


def test_few_blocks_make_a_wide_interval() -> None:
    """Three steps a side say far less than thirty of the same spread."""
    few = resample_blocks(_rows([1.0, 1.1, 0.9]), _rows([1.0, 1.1, 0.9])).ratio()
    many = resample_blocks(_rows([1.0, 1.1, 0.9] * 10), _rows([1.0, 1.1, 0.9] * 10)).ratio()
    assert few.freedom is not None
    assert many.freedom is not None
    assert few.freedom < many.freedom
    assert few.high - few.low > 3 * (many.high - many.low)


def test_block_length_follows_the_correlation() -> None:
    """Independent steps need blocks of one or two; steps with memory need longer ones."""
    free = [block_length(noisy(1.0, 400, seed=s, memory=0.0)) for s in range(9)]
    bound = [block_length(noisy(1.0, 400, seed=s, memory=0.9)) for s in range(9)]
    assert sorted(free)[4] <= 5
    assert sorted(bound)[4] >= 10
    assert block_length([1.0] * 50) == 1


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042)]
)
def test_student_quantiles_are_those_of_the_tables(freedom: int, expected: float) -> None:
    """The 97.5 % quantiles agree with the printed ones to 1 %."""
    assert student_quantile(0.975, freedom) == pytest.approx(expected, rel=0.01)


def test_quantile_is_linear_between_values() -> None:
    """Halfway between two of five values lies their middle."""
    assert quantile([0.0, 1.0, 2.0, 3.0, 10.0], 0.875) == pytest.approx(6.5)


def test_detectable_ratio_grows_with_the_interval() -> None:
    """A tight interval can show a small change, a wide one only a large one."""
    assert detectable_ratio(Interval(1.0, 0.99, 1.01)) < 1.02
    assert detectable_ratio(Interval(1.0, 0.8, 1.25)) > 1.3


def test_turns_without_steps_of_both_do_not_count() -> None:
    """Five pairs are needed, and a turn that one arm has no step in is none."""
    full: list[Rows] = [[(1.0,)]] * 5
    assert enough_turns(full, full)
    assert not enough_turns(full, [*full[:4], []])


def test_rounds_of_three_arms() -> None:
    """A number of three means keeps what their turns have in common, and needs enough rounds."""
    rng = random.Random(5)
    moods = [rng.uniform(0.5, 2.0) for _ in range(12)]
    rounds = [
        [[mood * factor * rng.uniform(0.99, 1.01) for _ in range(20)] for factor in (1, 3, 2)]
        for mood in moods
    ]

    def middle(means: Sequence[float]) -> float | None:
        return (means[1] - means[2]) / (means[1] - means[0])

    found = resample_rounds(rounds, middle)
    assert found is not None
    assert found.low < 0.5 < found.high
    assert found.high - found.low < 0.02
    assert resample_rounds(rounds[:4], middle) is None
    assert resample_rounds([*rounds, [[], [1.0], [1.0]]], middle) == found
    assert resample_rounds(rounds, lambda means: None) is None
