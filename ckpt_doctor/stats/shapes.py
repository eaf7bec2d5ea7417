"""How a slowdown runs over the steps: one-time, decaying, steady, periodic or growing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ckpt_doctor.facts.comparison import Shape

SEGMENTS = 6
"""Pieces of the window whose means show a trend."""
MIN_STEPS = 4 * SEGMENTS
"""With fewer steps, a lasting slowdown is called steady: a trend cannot be seen."""
STALL_SHARE = 0.6
"""Part of the excess that steps far above the ordinary ones carry, from which on it is periodic."""
STALL_STEP_RATIO = 0.25
"""Steps this much above the median count as stalls (a quarter of a step)."""
TREND_RATIO = 2.0
"""The first third's excess over the last third's (or the other way round) from which on it is a trend."""
TREND_CORRELATION = 0.7
"""Rank correlation of the segments' means with time that a trend needs."""
SETTLING_STEPS = 3.0
"""Steps' worth of time that the first steps must have cost to be called a one-time cost."""


def classify(
    before: Sequence[float], after: Sequence[float], *, lasting: bool, settling_s: float | None
) -> Shape:
    """Name the shape of a slowdown.

    Args:
        before: Step times of the control's window, in seconds.
        after: Step times of the resumed run's window.
        lasting: Whether the window's mean is above the effect floor.
        settling_s: Seconds that the steps before the window cost beyond the control's mean.
    """
    usual_s = math.fsum(before) / len(before)
    if not lasting:
        settled = settling_s is not None and settling_s >= SETTLING_STEPS * usual_s
        return Shape.ONE_TIME if settled else Shape.NONE
    excess = [step_s - usual_s for step_s in after]
    if len(excess) < MIN_STEPS:
        return Shape.STEADY
    trend = _trend(_segment_means(excess), _segment_means([s - usual_s for s in before]))
    if trend is not None and not (trend is Shape.GROWING and _stalls(before, after)):
        return trend
    return Shape.PERIODIC if _stalls(before, after) else Shape.STEADY


def _trend(after: Sequence[float], before: Sequence[float]) -> Shape | None:
    """Decaying or growing, where the control does not run the same way."""
    third = max(1, len(after) // 3)
    first, last = _mean(after[:third]), _mean(after[-third:])
    correlation = rank_correlation(after)
    if abs(correlation) < TREND_CORRELATION:
        return None
    drift = _mean(before[-third:]) - _mean(before[:third])
    change = last - first
    if drift * change > 0 and abs(drift) > 0.5 * abs(change):
        return None
    if correlation < 0 and first > TREND_RATIO * max(last, 0.0) and first > 0:
        return Shape.DECAYING
    if correlation > 0 and last > TREND_RATIO * max(first, 0.0) and last > 0:
        return Shape.GROWING
    return None


def _stalls(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether a few steps carry most of the excess, and come again and again."""
    usual_s = median(after)
    far = usual_s * (1.0 + STALL_STEP_RATIO)
    stalled = [i for i, step_s in enumerate(after) if step_s > far]
    if not 2 <= len(stalled) <= len(after) // 3:
        return False
    total = math.fsum(after) - len(after) * _mean(before)
    carried = math.fsum(after[i] - usual_s for i in stalled)
    in_both_halves = stalled[0] < len(after) / 2 <= stalled[-1]
    return total > 0 and carried >= STALL_SHARE * total and in_both_halves


def rank_correlation(values: Sequence[float]) -> float:
    """Spearman's rank correlation of a series with time; 0 for a constant series."""
    n = len(values)
    if n < 2 or min(values) == max(values):
        return 0.0
    ranks = _ranks(values)
    middle = (n - 1) / 2.0
    products = math.fsum((i - middle) * (rank - middle) for i, rank in enumerate(ranks))
    spread = math.fsum((rank - middle) ** 2 for rank in ranks)
    return products / math.sqrt(spread * math.fsum((i - middle) ** 2 for i in range(n)))


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 0; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2.0
        start = end + 1
    return ranks


def _segment_means(values: Sequence[float]) -> list[float]:
    n = len(values)
    if n < SEGMENTS:
        return [_mean(values)] * SEGMENTS
    edges = [n * i // SEGMENTS for i in range(SEGMENTS + 1)]
    return [_mean(values[a:b]) for a, b in pairwise(edges)]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
