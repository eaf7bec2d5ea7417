"""Several pairs of processes as one measurement: not only steps are sampled, but processes too.

Two processes of identical code differ (where their memory lies, what their heaps hand back to the kernel),
and no number of steps of one pair tells by how much. So each pair of processes gives one number, its own
interval is what the steps leave open, and the pairs are what is sampled (a model of random effects).

The interval of the pairs' mean is Student's, and never narrower than what their steps leave open together:
the method of Hartung and Knapp, as it is modified for few studies (Knapp & Hartung 2003, *Improved tests for
a random effects meta-regression with a single covariate*; Röver, Knapp & Friede 2015,
*Hartung-Knapp-Sidik-Jonkman approach and its modification for random-effects meta-analysis with few
studies*). All pairs weigh alike: processes differ by more than what the steps of a pair leave open, and then
no other weights are much better.

How far pairs of a ratio stray is a variance of few numbers, which three that agree by chance would make far
too small. So it leans on what is known of pairs beforehand: their effect floor is three standard deviations
of what pairs of identical code read, and counts as much as ``USUAL_FREEDOM`` more pairs would (Smyth 2004,
*Linear models and empirical Bayes methods for assessing differential expression in microarray experiments*:
the moderated t-statistic).

What the steps leave open together is put together of standard errors, not of the pairs' intervals: each of
these is as wide as few turns make it, while all pairs have many (Welch 1947, *The generalization of
'Student's' problem when several different population variances are involved*, with the degrees of freedom of
Satterthwaite 1946).

Ratios are averaged as logarithms, so that half and twice the time cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist, fmean, stdev

from ckpt_doctor.facts.comparison import (
    SPREAD_PAIRS,
    Comparison,
    Interval,
    PairRatio,
    PartDelta,
    Shape,
    Window,
)
from ckpt_doctor.facts.run import PARTS
from ckpt_doctor.stats.intervals import CONFIDENCE, detectable_ratio, student_quantile
from ckpt_doctor.stats.shapes import classify

MIN_EFFECT_RATIO = 1.02
"""Less is called no slowdown, however many pairs agree: what all resumed processes have in common beside the
resume (they start second, their turns come second, the agent counts a load) may cost them as much."""
FLOOR_CONFIDENCE = 0.99
"""How surely a mean above the floor is none of identical code. Of 95 % intervals one in forty lies above what
is true, and that would be one false alarm in forty."""
FLOOR_DEVIATIONS = 3.0
"""So many standard deviations of identical code's pairs make the effect floor of one pair."""
USUAL_FREEDOM = 3
"""As many degrees of freedom has what is known of the spread before any pair is measured."""


def over_pairs(first: Comparison, others: Sequence[Comparison]) -> Comparison:
    """The comparison of one pair of processes, with times and their doubt taken from all pairs together.

    Counters, settings, lines, and what the machine did, stay those of the first pair. Each pair counts in
    steps of its own control, since the machine's pace changes from pair to pair.

    Args:
        first: The pair whose windows are shown.
        others: Further pairs, compared in the same way; without any, nothing changes.
    """
    if not others:
        return first
    every = (first, *others)
    ratios, floors = [each.ratio for each in every], [each.effect_floor_ratio for each in every]
    ratio, floor = mean_ratio(ratios, floors), floor_over_pairs(ratios, floors)
    before_s = fmean(each.before.step_s for each in every)
    after_s = before_s * fmean(each.after.step_s / each.before.step_s for each in every)
    return replace(
        first,
        before=_paced(first.before, before_s),
        after=_paced(first.after, after_s),
        ratio=ratio,
        detectable_ratio=detectable_ratio(ratio, floor),
        effect_floor_ratio=floor,
        budget=_budget(every, before_s),
        shape=_shape(first, lasting=ratio.low > 1.0 and ratio.value >= floor),
        paired=all(each.paired for each in every),
        pairs=tuple(_pair(each) for each in every),
    )


def mean_ratio(ratios: Sequence[Interval], floors: Sequence[float]) -> Interval:
    """The mean of one ratio a pair, with its interval over the pairs; of one pair, that pair's own.

    Args:
        ratios: Those of the pairs.
        floors: The effect floor of each pair.
    """
    if len(ratios) == 1:
        return ratios[0]
    logs = [Interval(math.log(r.value), math.log(r.low), math.log(r.high), r.freedom) for r in ratios]
    mean = mean_over_pairs(logs, usual_spread=_usual_spread(floors))
    return Interval(math.exp(mean.value), math.exp(mean.low), math.exp(mean.high))


def mean_over_pairs(values: Sequence[Interval], *, usual_spread: float | None = None) -> Interval:
    """The mean of one number a pair, with its interval over the pairs; of one pair, that pair's own.

    Args:
        values: Those of the pairs.
        usual_spread: Standard deviation of such numbers, where it is known beforehand.
    """
    if len(values) == 1:
        return values[0]
    mean = fmean(each.value for each in values)
    between = _reach([each.value for each in values], usual_spread)
    freedoms = [each.freedom for each in values]
    below = max(between, _left_open([each.value - each.low for each in values], freedoms))
    above = max(between, _left_open([each.high - each.value for each in values], freedoms))
    return Interval(mean, mean - below, mean + above)


def floor_over_pairs(ratios: Sequence[Interval], floors: Sequence[float]) -> float:
    """The smallest mean over pairs that is called a slowdown when nothing but the clock speaks for it.

    Each pair's own floor is what one pair of identical code may read by chance. Pairs stray each for itself,
    so their mean strays less: the more pairs there are, and the better they agree, the smaller the floor.

    Args:
        ratios: Those of the pairs.
        floors: The effect floor of each; of fewer than ``SPREAD_PAIRS`` the highest one holds.
    """
    highest = max(floors)
    if len(floors) < SPREAD_PAIRS:
        return highest
    error, freedom = _error([math.log(ratio.value) for ratio in ratios], _usual_spread(floors))
    chance = math.exp(_quantile(freedom, FLOOR_CONFIDENCE) * error)
    return min(highest, max(MIN_EFFECT_RATIO, chance))


def _usual_spread(floors: Sequence[float]) -> float:
    """Standard deviation of what pairs of identical code with such effect floors read, as logarithms."""
    return fmean(math.log(floor) for floor in floors) / FLOOR_DEVIATIONS


def _reach(values: Sequence[float], usual_spread: float | None) -> float:
    """How far from their mean the true one may lie, as far as the pairs differ from each other.

    Student's quantile of two values is so large that it would say nothing: of them, half their distance is
    taken, and the effect floor stays that of one pair.
    """
    if len(values) < SPREAD_PAIRS:
        return (max(values) - min(values)) / 2.0
    error, freedom = _error(values, usual_spread)
    return _quantile(freedom) * error


def _error(values: Sequence[float], usual_spread: float | None) -> tuple[float, int]:
    """The standard error of the pairs' mean, and its degrees of freedom."""
    freedom = len(values) - 1
    squares = freedom * stdev(values) ** 2
    if usual_spread is not None:
        freedom += USUAL_FREEDOM
        squares += USUAL_FREEDOM * usual_spread**2
    return math.sqrt(squares / freedom / len(values)), freedom


def _left_open(reaches: Sequence[float], freedoms: Sequence[int | None]) -> float:
    """How far from the mean of some numbers the true one may lie, as far as their own reaches tell."""
    errors = [reach / _quantile(freedom) for reach, freedom in zip(reaches, freedoms, strict=True)]
    doubt = math.fsum(
        error**4 / freedom for error, freedom in zip(errors, freedoms, strict=True) if freedom is not None
    )
    freedom = max(1, int(math.fsum(error**2 for error in errors) ** 2 / doubt)) if doubt else None
    return _quantile(freedom) * _together(errors)


def _quantile(freedom: int | None, confidence: float = CONFIDENCE) -> float:
    """How many standard errors an interval reaches."""
    upper = (1.0 + confidence) / 2.0
    return NormalDist().inv_cdf(upper) if freedom is None else student_quantile(upper, freedom)


def _together(reaches: Sequence[float]) -> float:
    """The reach of a mean of numbers that stray independently, each by its own reach."""
    return math.hypot(*reaches) / len(reaches)


def _paced(window: Window, step_s: float) -> Window:
    """The window with another mean step time, and as many samples in a step."""
    samples_per_s = window.samples_per_s
    if samples_per_s is not None:
        samples_per_s *= window.step_s / step_s
    return replace(window, step_s=step_s, samples_per_s=samples_per_s)


def _budget(every: Sequence[Comparison], step_s: float) -> tuple[PartDelta, ...]:
    """The budget over all pairs, for a control whose step takes so long; the parts add up as in each pair."""
    known = {part.part for each in every for part in each.budget}
    return tuple(_part(name, every, step_s) for name in PARTS if name in known)


def _part(name: str, every: Sequence[Comparison], step_s: float) -> PartDelta:
    parts = [_in_steps(each, name) for each in every]
    delta = mean_over_pairs([part.delta for part in parts])
    return PartDelta(
        name,
        step_s * fmean(part.before_s for part in parts),
        step_s * fmean(part.after_s for part in parts),
        Interval(step_s * delta.value, step_s * delta.low, step_s * delta.high),
    )


def _in_steps(comparison: Comparison, name: str) -> PartDelta:
    """A part of one pair's budget in steps of its control; processes without it spent no time on it."""
    found = next((part for part in comparison.budget if part.part == name), None)
    if found is None:
        return PartDelta(name, 0.0, 0.0, Interval(0.0, 0.0, 0.0))
    step_s, delta = comparison.before.step_s, found.delta
    return PartDelta(
        name,
        found.before_s / step_s,
        found.after_s / step_s,
        Interval(delta.value / step_s, delta.low / step_s, delta.high / step_s, delta.freedom),
    )


def _shape(first: Comparison, *, lasting: bool) -> Shape:
    """The first pair's shape, as long as all pairs together are slower where it is, or are not."""
    if lasting is (first.shape not in (Shape.NONE, Shape.ONE_TIME)):
        return first.shape
    means = ((first.before.step_s,), (first.after.step_s,))
    return classify(*means, lasting=lasting, settling_s=first.settling_s)


def _pair(comparison: Comparison) -> PairRatio:
    before, after = comparison.before.run.meta.path, comparison.after.run.meta.path
    return PairRatio(before, after, comparison.ratio)
