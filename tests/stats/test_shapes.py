"""The shape of a slowdown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.stats.shapes import classify, rank_correlation
from tests.builders import noisy

COUNT = 180


def _classify(
    after: list[float], *, seed: int, lasting: bool = True, settling_s: float | None = 0.0
) -> Shape:
    return classify(noisy(0.01, COUNT, seed=seed + 1000), after, lasting=lasting, settling_s=settling_s)


@pytest.mark.parametrize("seed", range(8))
def test_each_shape_is_recognised_under_noise(seed: int) -> None:
    """Steady, periodic, decaying and growing slowdowns are told apart."""
    base = noisy(0.01, COUNT, seed=seed)
    steady = [t * 1.5 for t in base]
    periodic = [t + (0.08 if i % 20 == 7 else 0.0) for i, t in enumerate(base)]
    decaying = [t + 0.02 * math.exp(-i / 30.0) for i, t in enumerate(base)]
    growing = [t + 0.02 * i / COUNT for i, t in enumerate(base)]
    assert _classify(steady, seed=seed) is Shape.STEADY
    assert _classify(periodic, seed=seed) is Shape.PERIODIC
    assert _classify(decaying, seed=seed) is Shape.DECAYING
    assert _classify(growing, seed=seed) is Shape.GROWING


def test_a_cost_in_the_first_steps_alone_is_one_time() -> None:
    """Without a lasting slowdown, seconds lost before the window are a one-time cost."""
    base = noisy(0.01, COUNT, seed=5)
    assert _classify(base, seed=5, lasting=False, settling_s=0.5) is Shape.ONE_TIME
    assert _classify(base, seed=5, lasting=False, settling_s=0.01) is Shape.NONE
    assert _classify(base, seed=5, lasting=False, settling_s=None) is Shape.NONE


def test_growth_that_the_control_has_too_is_no_growth_by_the_resume() -> None:
    """Data that become larger for both arms make a steady slowdown, not a growing one."""
    before = [0.01 + 0.01 * i / COUNT for i in range(COUNT)]
    after = [1.5 * t for t in before]
    assert classify(before, after, lasting=True, settling_s=0.0) is Shape.STEADY


def test_few_steps_show_no_trend() -> None:
    """With a handful of steps a lasting slowdown is called steady."""
    assert classify([1.0] * 5, [1.2, 1.4, 1.6, 1.8, 2.0], lasting=True, settling_s=None) is Shape.STEADY


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_rank_correlation_is_bounded_and_turns_with_time(values: list[float]) -> None:
    """It lies in -1 to 1 and changes sign when time runs backwards."""
    forward = rank_correlation(values)
    assert -1.0 - 1e-9 <= forward <= 1.0 + 1e-9
    assert rank_correlation(values[::-1]) == pytest.approx(-forward, abs=1e-9)
