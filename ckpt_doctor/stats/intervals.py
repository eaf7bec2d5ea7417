"""Intervals for means and ratios of step times, which depend on their neighbours in time.

Steps are not independent: a busy moment of the machine slows a whole stretch, and stalls come once
an epoch. So blocks of steps are resampled, not steps:

- arms that took turns are resampled in pairs of turns (a turn of one arm with the same turn of the
  other), which keeps what the machine did at that time on both sides of the ratio;
- otherwise each arm by itself in circular blocks of consecutive steps (Künsch 1989, *The jackknife
  and the bootstrap for general stationary observations*; Politis & Romano 1992 for the circular
  form), with the block length of Politis & White 2004 (*Automatic block-length selection for the
  dependent bootstrap*) as corrected by Patton, Politis & White 2009.

Percentiles of few resampled blocks are too narrow; they are widened to what Student's t asks for
(Hesterberg 2015, *What teachers should know about the bootstrap*, "expanded percentile interval").

Means are ratios of totals, never medians: a stall each epoch leaves the median untouched.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from ckpt_doctor.facts.comparison import Interval

CONFIDENCE = 0.95
POWER = 0.80
"""How surely a change of the size that is called detectable would be detected."""
DRAWS = 1000
SEED = 20250101
"""The same recordings give the same interval, to the last digit."""
MIN_TURN_PAIRS = 5
"""With fewer pairs of turns their spread says too little, and blocks of steps are resampled."""

Row = tuple[float, ...]
"""The values of one step; the first is its time."""


@dataclass(frozen=True)
class Block:
    """Some steps that are drawn together."""

    steps: int
    sums: Row
    """Totals by column."""


@dataclass(frozen=True)
class Draw:
    """Column means of both arms in one resampled experiment."""

    before: Row
    after: Row


@dataclass(frozen=True)
class Experiment:
    """The means of two arms, and how they come out when the experiment is resampled."""

    before: Row
    after: Row
    draws: tuple[Draw, ...]
    blocks: int
    """Independent blocks in the arm that has fewer: the sample size that counts."""

    def ratio(self) -> Interval:
        """Mean of the first column, after over before, with its interval."""
        value = self.after[0] / self.before[0]
        logs = [math.log(d.after[0] / d.before[0]) for d in self.draws]
        low, high = _expanded(math.log(value), logs, self.blocks)
        return Interval(value, math.exp(low), math.exp(high), self.blocks - 1)

    def delta(self, column: int) -> Interval:
        """Difference of one column's means, after less before, with its interval."""
        value = self.after[column] - self.before[column]
        draws = [d.after[column] - d.before[column] for d in self.draws]
        low, high = _expanded(value, draws, self.blocks)
        return Interval(value, low, high, self.blocks - 1)


def resample_turns(before: Sequence[Sequence[Row]], after: Sequence[Sequence[Row]]) -> Experiment:
    """Resample two arms that took turns.

    Args:
        before: The steps of each turn of the first arm; a turn may have none.
        after: Those of the second arm; turn ``i`` was next to turn ``i`` of the first.
    """
    pairs = [(_block(b), _block(a)) for b, a in zip(before, after, strict=True) if b or a]
    rng = random.Random(SEED)
    draws: list[Draw] = []
    while len(draws) < DRAWS:
        picks = rng.choices(pairs, k=len(pairs))
        one, two = _total([b for b, _ in picks]), _total([a for _, a in picks])
        if one.steps and two.steps:
            draws.append(Draw(_means(one), _means(two)))
    whole_before, whole_after = _total([b for b, _ in pairs]), _total([a for _, a in pairs])
    both = sum(1 for b, a in pairs if b.steps and a.steps)
    return Experiment(_means(whole_before), _means(whole_after), tuple(draws), max(2, both))


def resample_blocks(before: Sequence[Row], after: Sequence[Row]) -> Experiment:
    """Resample two arms that did not take turns, each by itself in blocks of its own length."""
    rng = random.Random(SEED)
    one, count_one = _resampled_means(before, rng)
    two, count_two = _resampled_means(after, rng)
    draws = tuple(Draw(b, a) for b, a in zip(one, two, strict=True))
    return Experiment(_means(_block(before)), _means(_block(after)), draws, min(count_one, count_two))


def resample_rounds(
    rounds: Sequence[Sequence[Sequence[float]]], statistic: Callable[[Sequence[float]], float | None]
) -> Interval | None:
    """Interval of a number that is made of the means of several arms that took turns.

    Args:
        rounds: The step times of one turn of each arm, round by round.
        statistic: Makes the number of the arms' means; None where these do not give any.

    Returns:
        None where the rounds are too few, or too many of the resampled ones give no number.
    """
    whole = [[_block([(step_s,) for step_s in turn]) for turn in turns] for turns in rounds]
    whole = [blocks for blocks in whole if all(block.steps for block in blocks)]
    if len(whole) < MIN_TURN_PAIRS:
        return None

    def number(picks: Sequence[Sequence[Block]]) -> float | None:
        return statistic([_means(_total(arm))[0] for arm in zip(*picks, strict=True)])

    value, rng = number(whole), random.Random(SEED)
    draws = [number(rng.choices(whole, k=len(whole))) for _ in range(DRAWS)]
    known = [draw for draw in draws if draw is not None]
    if value is None or len(known) < CONFIDENCE * DRAWS:
        return None
    return Interval(value, *_expanded(value, known, len(whole)))


def enough_turns(before: Sequence[Sequence[Row]], after: Sequence[Sequence[Row]]) -> bool:
    """Whether enough turns have steps of both arms to resample them."""
    return sum(1 for b, a in zip(before, after, strict=False) if b and a) >= MIN_TURN_PAIRS


def detectable_ratio(ratio: Interval, floor_ratio: float = 1.0) -> float:
    """The slowdown that steps as noisy as these show with ``POWER``, from the interval's width.

    Args:
        ratio: The ratio with its interval.
        floor_ratio: The smallest ratio that is called a slowdown.
    """
    normal = NormalDist()
    reach = normal.inv_cdf((1.0 + CONFIDENCE) / 2.0)
    error = (math.log(ratio.high) - math.log(ratio.low)) / (2.0 * reach)
    power = normal.inv_cdf(POWER)
    return max(math.exp((reach + power) * error), floor_ratio * math.exp(power * error))


def block_length(values: Sequence[float]) -> int:
    """Steps per block for a circular block bootstrap of the mean (Politis & White 2004)."""
    n = len(values)
    if n < 8:
        return 1
    mean = math.fsum(values) / n
    centred = [v - mean for v in values]
    most = min(n - 1, math.ceil(math.sqrt(n)) + max(5, math.ceil(math.sqrt(math.log10(n)))))
    covariances = [
        math.fsum(a * b for a, b in zip(centred, centred[k:], strict=False)) / n for k in range(most + 1)
    ]
    if covariances[0] <= 0.0:
        return 1
    lags = min(most, 2 * _last_correlated_lag(covariances, n))
    weights = [_flat_top(k / lags) if lags else float(k == 0) for k in range(lags + 1)]
    spectrum = covariances[0] + 2.0 * math.fsum(weights[k] * covariances[k] for k in range(1, lags + 1))
    slope = 2.0 * math.fsum(weights[k] * k * covariances[k] for k in range(1, lags + 1))
    if spectrum <= 0.0:
        return 1
    length = (2.0 * slope**2 / (4.0 / 3.0 * spectrum**2)) ** (1.0 / 3.0) * n ** (1.0 / 3.0)
    longest = math.ceil(min(3.0 * math.sqrt(n), n / 3.0))
    return int(max(1, min(longest, math.ceil(length))))


def student_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t: exact for 1 and 2 degrees of freedom, else Cornish and Fisher's expansion.

    Source: Abramowitz & Stegun 26.7.5; within 1 % from 3 degrees of freedom on.
    """
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2.0 * probability - 1.0) / math.sqrt(2.0 * probability * (1.0 - probability))
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4.0,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96.0,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384.0,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


def quantile(ordered: Sequence[float], probability: float) -> float:
    """Quantile of sorted values, linear between neighbours."""
    place = probability * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _resampled_means(rows: Sequence[Row], rng: random.Random) -> tuple[list[Row], int]:
    """Means of ``DRAWS`` resampled series, and how many blocks each is made of."""
    length = block_length([row[0] for row in rows])
    doubled = list(rows) + list(rows[: length - 1])
    blocks = [_block(doubled[start : start + length]) for start in range(len(rows))]
    count = max(2, round(len(rows) / length))
    return [_means(_total(rng.choices(blocks, k=count))) for _ in range(DRAWS)], count


def _last_correlated_lag(covariances: Sequence[float], n: int) -> int:
    """The lag after which several correlations in a row are within noise."""
    bound = 2.0 * math.sqrt(math.log10(n) / n)
    run = max(5, math.ceil(math.sqrt(math.log10(n))))
    small = [abs(c / covariances[0]) < bound for c in covariances]
    for lag in range(1, len(small) - run + 1):
        if all(small[lag : lag + run]):
            return lag - 1 or 1
    return max((k for k, within in enumerate(small) if not within), default=1) or 1


def _flat_top(x: float) -> float:
    return 1.0 if x <= 0.5 else max(0.0, 2.0 * (1.0 - x))


def _expanded(value: float, draws: Sequence[float], blocks: int) -> tuple[float, float]:
    """Ends of the interval around a value: percentiles of its draws, widened for so many blocks."""
    tail = (1.0 - CONFIDENCE) / 2.0
    ordered = sorted(draws)
    widen = _widening(blocks)
    low = value + (quantile(ordered, tail) - value) * widen
    high = value + (quantile(ordered, 1.0 - tail) - value) * widen
    # A skewed distribution of the draws can lie on one side of the value: it still has to be inside.
    return min(low, value), max(high, value)


def _widening(blocks: int) -> float:
    upper = (1.0 + CONFIDENCE) / 2.0
    n = max(2, blocks)
    return student_quantile(upper, n - 1) / NormalDist().inv_cdf(upper) * math.sqrt(n / (n - 1))


def _block(rows: Sequence[Row]) -> Block:
    return Block(len(rows), tuple(math.fsum(column) for column in zip(*rows, strict=True)))


def _total(blocks: Sequence[Block]) -> Block:
    filled = [b for b in blocks if b.steps]
    return Block(sum(b.steps for b in filled), tuple(map(sum, zip(*(b.sums for b in filled), strict=True))))


def _means(block: Block) -> Row:
    return tuple(value / block.steps for value in block.sums)
