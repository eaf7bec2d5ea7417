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
    ratio = mean_ratio([each.ratio for each in every])
    floor = floor_over_pairs([each.effect_floor_ratio for each in every])
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


def mean_ratio(ratios: Sequence[Interval]) -> Interval:
    """The mean of one ratio a pair, with its interval over the pairs; of one pair, that pair's own."""
    if len(ratios) == 1:
        return ratios[0]
    logs = [Interval(math.log(r.value), math.log(r.low), math.log(r.high), r.freedom) for r in ratios]
    mean = mean_over_pairs(logs)
    return Interval(math.exp(mean.value), math.exp(mean.low), math.exp(mean.high))


def mean_over_pairs(values: Sequence[Interval]) -> Interval:
    """The mean of one number a pair, with its interval over the pairs; of one pair, that pair's own."""
    if len(values) == 1:
        return values[0]
    mean = fmean(each.value for each in values)
    between = _reach([each.value for each in values])
    freedoms = [each.freedom for each in values]
    below = max(between, _left_open([each.value - each.low for each in values], freedoms))
    above = max(between, _left_open([each.high - each.value for each in values], freedoms))
    return Interval(mean, mean - below, mean + above)


def floor_over_pairs(floors: Sequence[float]) -> float:
    """The smallest mean over pairs that is called a slowdown when nothing but the clock speaks for it.

    Each floor is what one pair of identical code may read by chance. Pairs stray each for itself, so their
    mean strays less, by the root of their number. The interval alone would not do: one in forty of 95 %
    intervals lies above what is true, and that is one false alarm in forty.

    Args:
        floors: Those of the pairs; of fewer than ``SPREAD_PAIRS`` the highest one holds.
    """
    if len(floors) < SPREAD_PAIRS:
        return max(floors)
    return max(MIN_EFFECT_RATIO, 1.0 + _together([floor - 1.0 for floor in floors]))


def _reach(values: Sequence[float]) -> float:
    """How far from their mean the true one may lie, as far as the pairs differ from each other.

    Student's quantile of two values is so large that it would say nothing: of them, half their distance is
    taken, and the effect floor stays that of one pair.
    """
    if len(values) < SPREAD_PAIRS:
        return (max(values) - min(values)) / 2.0
    return _quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))


def _left_open(reaches: Sequence[float], freedoms: Sequence[int | None]) -> float:
    """How far from the mean of some numbers the true one may lie, as far as their own reaches tell."""
    errors = [reach / _quantile(freedom) for reach, freedom in zip(reaches, freedoms, strict=True)]
    doubt = math.fsum(
        error**4 / freedom for error, freedom in zip(errors, freedoms, strict=True) if freedom is not None
    )
    freedom = max(1, int(math.fsum(error**2 for error in errors) ** 2 / doubt)) if doubt else None
    return _quantile(freedom) * _together(errors)


def _quantile(freedom: int | None) -> float:
    """How many standard errors an interval reaches."""
    upper = (1.0 + CONFIDENCE) / 2.0
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
