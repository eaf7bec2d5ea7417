"""Several pairs of processes as one measurement."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.checks.blame import is_slower
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import SPREAD_PAIRS, Comparison, Interval, Shape
from ckpt_doctor.facts.report import Case, Status, Verdict
from ckpt_doctor.stats.comparison import STEADY_HEAP_FLOOR_RATIO, STEADY_HEAP_KEY, compare_runs
from ckpt_doctor.stats.intervals import detectable_ratio, student_quantile
from ckpt_doctor.stats.pairs import (
    MIN_EFFECT_RATIO,
    floor_over_pairs,
    mean_over_pairs,
    mean_ratio,
    over_pairs,
)
from tests.builders import PARTS, control, resumed
from tests.report.sample import comparison

STEADY = {STEADY_HEAP_KEY: "33554432"}
PROCESS_SPREAD = 0.021
"""Standard deviation of a further pair's log ratio, as it was measured with a steady heap, quiet."""
WIDE_SPREAD = 0.035
"""The widest that was measured."""

values = st.floats(-0.3, 0.3)
reaches = st.floats(0.001, 0.2)
pairs = st.lists(st.tuples(values, reaches, reaches), min_size=2, max_size=9)


def intervals(rows: list[tuple[float, float, float]]) -> list[Interval]:
    """Each row a value, and how far its interval reaches below and above."""
    return [Interval(value, value - below, value + above) for value, below, above in rows]


def log_pair(log_ratio: float, reach: float = 0.02, *, floor: float = STEADY_HEAP_FLOOR_RATIO) -> Comparison:
    """A pair of processes that reads a ratio, given as its logarithm."""
    ratio = Interval(*(math.exp(log_ratio + side * reach) for side in (0.0, -1.0, 1.0)))
    return comparison(ratio=ratio, effect_floor_ratio=floor)


def real_pair(resumed_s: float, seed: int, *, luck: float = 0.0) -> Comparison:
    """A pair of runs with a steady heap, the control at 10 ms a step; the processes differ by luck."""
    rng = random.Random(seed)
    before_s, after_s = (mean_s * rng.gauss(1.0, luck) for mean_s in (0.01, resumed_s))
    before = control(before_s, seed=2 * seed, values=STEADY)
    return compare_runs(before, resumed(after_s, seed=2 * seed + 1, values=STEADY))


def verdict(compared: Comparison) -> Verdict:
    """What is said of it."""
    case = Case(comparison=compared)
    return decide(case, judge(case)[0])


@given(values, reaches, reaches)
def test_one_pair_is_what_it_is(value: float, below: float, above: float) -> None:
    """A single pair keeps its value and its interval, to the last digit."""
    (one,) = intervals([(value, below, above)])
    assert mean_over_pairs([one]) == one
    ratio = Interval(*(math.exp(end) for end in (one.value, one.low, one.high)))
    assert mean_ratio([ratio], [STEADY_HEAP_FLOOR_RATIO]) == ratio


def test_one_pair_is_compared_as_ever() -> None:
    """Without further pairs nothing of a comparison changes, and it tells of no pairs."""
    first = comparison()
    assert over_pairs(first, ()) is first
    assert first.pairs == ()
    assert not first.knows_spread


@given(pairs)
def test_the_mean_lies_in_an_interval_that_both_sources_of_doubt_support(
    rows: list[tuple[float, float, float]],
) -> None:
    """It is narrower neither than Student's over the pairs, nor than the pairs' own intervals together."""
    found = mean_over_pairs(intervals(rows))
    logs, count = [row[0] for row in rows], len(rows)
    assert found.value == pytest.approx(sum(logs) / count)
    below, above = found.value - found.low, found.high - found.value
    least = [math.hypot(*(row[side] for row in rows)) / count for side in (1, 2)]
    if count >= SPREAD_PAIRS:
        student = student_quantile(0.975, count - 1) * stdev(logs) / math.sqrt(count)
        least = [max(student, each) for each in least]
    assert below >= least[0] - 1e-12
    assert above >= least[1] - 1e-12
    assert found.low <= found.value <= found.high


@given(pairs, st.floats(1.0, 5.0))
def test_more_spread_is_never_a_narrower_interval(
    rows: list[tuple[float, float, float]], factor: float
) -> None:
    """Where pairs with the same intervals of their own lie further apart, less is known of their mean."""
    mean = sum(row[0] for row in rows) / len(rows)
    apart = [(mean + factor * (value - mean), below, above) for value, below, above in rows]
    near, far = mean_over_pairs(intervals(rows)), mean_over_pairs(intervals(apart))
    assert far.high - far.low >= near.high - near.low - 1e-9


@given(values, reaches, st.integers(2, 9))
def test_equal_pairs_leave_the_doubt_of_their_steps(value: float, reach: float, count: int) -> None:
    """Pairs that read the same by chance do not make a certainty: what their steps leave open stays."""
    found = mean_over_pairs(intervals([(value, reach, reach)] * count))
    assert found.high - found.low == pytest.approx(2.0 * reach / math.sqrt(count))


def test_wide_spread_counts_more_than_tight_pairs() -> None:
    """Three pairs that differ by far more than their steps leave open have the interval of their spread."""
    found = mean_over_pairs(intervals([(value, 0.001, 0.001) for value in (-0.1, 0.0, 0.1)]))
    assert found.high == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=0.01)


def test_two_pairs_say_no_more_than_they_can() -> None:
    """Their interval reaches to both, and the effect floor stays that of one pair."""
    compared = over_pairs(log_pair(0.0), [log_pair(0.1)])
    assert compared.ratio.low <= 1.0 + 1e-9
    assert compared.ratio.high >= math.exp(0.1) - 1e-9
    assert compared.effect_floor_ratio == STEADY_HEAP_FLOOR_RATIO
    assert not compared.knows_spread


@given(st.lists(st.tuples(st.floats(-0.2, 0.2), st.floats(1.02, 1.5)), min_size=3, max_size=100))
def test_the_floor_is_never_above_that_of_one_pair(rows: list[tuple[float, float]]) -> None:
    """It is never above that of the worst pair, nor below what is too little to be told."""
    ratios = [Interval(math.exp(log), math.exp(log - 0.01), math.exp(log + 0.01)) for log, _ in rows]
    floors = [floor for _, floor in rows]
    assert MIN_EFFECT_RATIO <= floor_over_pairs(ratios, floors) <= max(floors)


def test_the_floor_falls_with_the_number_of_pairs_and_with_their_spread() -> None:
    """More pairs, or pairs that agree better, tell smaller slowdowns; few that agree do not by far."""

    def floor(spread: float, count: int) -> float:
        ratios = [log_pair(spread * (-1) ** i).ratio for i in range(count)]
        return floor_over_pairs(ratios, [STEADY_HEAP_FLOOR_RATIO] * count)

    assert floor(0.03, 8) < floor(0.03, 4) < STEADY_HEAP_FLOOR_RATIO
    assert floor(0.01, 8) < floor(0.03, 8) < floor(0.05, 8)
    assert floor(0.0, 3) > 1.05


def test_what_is_known_of_pairs_is_worth_some_more_of_them() -> None:
    """Three pairs that agree by chance get a wider interval, three that spread by chance a narrower one."""

    def width(spread: float, usual_spread: float | None) -> float:
        rows = intervals([(value, 0.001, 0.001) for value in (-spread, 0.0, spread)])
        found = mean_over_pairs(rows, usual_spread=usual_spread)
        return found.high - found.low

    assert width(0.001, 0.03) > width(0.001, None)
    assert width(0.06, 0.03) < width(0.06, None)


def test_what_would_show_is_above_the_floor() -> None:
    """However tight the pairs are, a slowdown below the floor is called none: the power says so."""
    compared = over_pairs(log_pair(0.0, 0.001), [log_pair(0.0, 0.001)] * 7)
    assert detectable_ratio(compared.ratio) < MIN_EFFECT_RATIO
    assert compared.detectable_ratio >= compared.effect_floor_ratio
    wide = over_pairs(log_pair(0.0), [log_pair(0.1 * (-1) ** i) for i in range(7)])
    assert wide.detectable_ratio >= detectable_ratio(wide.ratio)


def _found(effect: float, count: int, trials: int, spread: float = PROCESS_SPREAD) -> float:
    """How often so many pairs, which spread as told, are called slower by the clock alone."""
    rng = random.Random(7)
    told = 0
    for _ in range(trials):
        first, *others = (log_pair(rng.gauss(effect, spread), 0.01) for _ in range(count))
        told += is_slower(over_pairs(first, others), proven=False)
    return told / trials


def test_eight_pairs_tell_five_per_cent() -> None:
    """A slowdown of 5 % is found in nine of ten probes that measure eight pairs."""
    assert _found(math.log(1.05), count=8, trials=300) >= 0.9
    assert _found(math.log(1.10), count=8, trials=300) == 1.0


@pytest.mark.parametrize("spread", [0.01, PROCESS_SPREAD, WIDE_SPREAD])
def test_eight_pairs_of_identical_code_are_not_slower(spread: float) -> None:
    """It is so called in one of 100 probes at most, however far the processes of a machine spread."""
    assert _found(0.0, count=8, trials=300, spread=spread) <= 0.01


@pytest.mark.parametrize("count", [3, 4, 6])
def test_fewer_pairs_raise_no_more_false_alarms(count: int) -> None:
    """With any number of pairs, identical code is hardly ever called slower."""
    assert _found(0.0, count=count, trials=300, spread=WIDE_SPREAD) <= 0.01


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Of 95 % intervals over pairs, about 95 % hold the true ratio."""
    rng = random.Random(11)
    held, trials = 0, 400
    for _ in range(trials):
        rows = [(rng.gauss(0.0, WIDE_SPREAD), 0.01, 0.01) for _ in range(6)]
        found = mean_over_pairs(intervals(rows))
        held += found.low <= 0.0 <= found.high
    assert 0.92 <= held / trials <= 0.98


FEW_TURNS, TURN_SPREAD = 5, 0.03


def _few_turns(rng: random.Random) -> Interval:
    """The logarithm of a pair's ratio, whose true value is 0, from few turns, with Student's interval."""
    logs = [rng.gauss(0.0, TURN_SPREAD) for _ in range(FEW_TURNS)]
    reach = student_quantile(0.975, FEW_TURNS - 1) * stdev(logs) / math.sqrt(FEW_TURNS)
    return Interval(fmean(logs), fmean(logs) - reach, fmean(logs) + reach, FEW_TURNS - 1)


def test_pairs_of_few_turns_are_together_as_sure_as_all_their_turns() -> None:
    """Each pair's interval is as wide as five turns make it; that of eight pairs is as wide as forty do."""
    rng = random.Random(13)
    held, widths, trials = 0, [], 400
    for _ in range(trials):
        found = mean_over_pairs([_few_turns(rng) for _ in range(8)])
        held += found.low <= 0.0 <= found.high
        widths.append((found.high - found.low) / 2.0)
    assert 0.95 <= held / trials <= 1.0
    all_turns = 2.03 * TURN_SPREAD / math.sqrt(8 * FEW_TURNS)
    assert all_turns <= fmean(widths) <= 1.3 * all_turns


@given(pairs, st.integers(1, 30))
def test_fewer_degrees_of_freedom_are_never_a_wider_mean_than_the_pairs_own(
    rows: list[tuple[float, float, float]], freedom: int
) -> None:
    """Wide as Student's intervals of few turns are, they add up to no more than they would as they stand."""
    normal = intervals(rows)
    found = mean_over_pairs([replace(each, freedom=freedom) for each in normal])
    as_they_stand = mean_over_pairs(normal)
    assert found.high <= as_they_stand.high + 1e-9
    assert found.low >= as_they_stand.low - 1e-9


def test_the_luck_of_one_pair_is_no_slowdown() -> None:
    """A first pair that would have been called slower alone is overruled by pairs that are not."""
    lucky = log_pair(math.log(1.14), 0.01)
    assert is_slower(lucky, proven=False)
    assert not is_slower(over_pairs(lucky, [log_pair(0.0, 0.01)] * 5), proven=False)


def test_a_small_slowdown_of_unknown_cause() -> None:
    """Eight pairs find 6 % that one pair cannot tell; no counter moved, so the cause is not established."""
    every = [real_pair(0.0106, seed, luck=0.01) for seed in range(8)]
    alone, together = verdict(every[0]), verdict(over_pairs(every[0], every[1:]))
    assert alone.status is not Status.SLOWER
    assert (together.status, together.cause) == (Status.SLOWER, "CMP319")
    assert "over 8 pairs of processes" in together.sentence


def test_identical_code_in_several_pairs() -> None:
    """Pairs of equal runs are equally fast, whatever luck their processes had."""
    every = [real_pair(0.01, seed, luck=0.02) for seed in range(100, 106)]
    assert verdict(over_pairs(every[0], every[1:])).status is Status.SAME


def test_the_budget_adds_up_over_pairs() -> None:
    """Parts and step times are means over the pairs, in steps of each pair's control, and still add up."""
    every = [real_pair(0.01 + 0.0005 * i, seed=i, luck=0.05) for i in range(3)]
    found = over_pairs(every[0], every[1:])
    for side in ("before", "after"):
        parts_s = sum(getattr(part, f"{side}_s") for part in found.budget)
        assert parts_s == pytest.approx(getattr(found, side).step_s, rel=1e-6)
    assert sum(part.delta.value for part in found.budget) == pytest.approx(found.delta_s, rel=1e-6)
    assert found.delta_s / found.before.step_s == pytest.approx(found.ratio.value - 1.0, abs=0.01)
    assert {part.part for part in found.budget} == {*PARTS, "rest"}
    for window, first in ((found.before, every[0].before), (found.after, every[0].after)):
        assert window.samples_per_s is not None
        assert first.samples_per_s is not None
        assert window.samples_per_s * window.step_s == pytest.approx(first.samples_per_s * first.step_s)
    assert [pair.ratio for pair in found.pairs] == [each.ratio for each in every]
    assert (found.pairs[0].before, found.pairs[0].after) == ("rec/before", "rec/after")


def test_a_part_that_one_pair_lacks() -> None:
    """A pair without saves or collections spent no time on them; the part is shown with its mean."""
    first = comparison()
    other = replace(first, budget=tuple(part for part in first.budget if part.part != "data_wait"))
    found = over_pairs(first, [other])
    assert found.part("data_wait").after_s == pytest.approx(first.part("data_wait").after_s / 2.0)
    assert [part.part for part in found.budget] == [part.part for part in first.budget]


def test_the_shape_is_that_of_all_pairs() -> None:
    """What only the first pair shows has no shape, and what all show together is steady."""
    slow, same = log_pair(0.3), log_pair(0.0)
    slow, same = replace(slow, shape=Shape.PERIODIC), replace(same, shape=Shape.NONE)
    assert over_pairs(slow, [slow, slow]).shape is Shape.PERIODIC
    assert over_pairs(slow, [same] * 5).shape is Shape.NONE
    assert over_pairs(same, [slow] * 9).shape is Shape.STEADY


def test_arms_that_took_no_turns_in_one_pair() -> None:
    """Then not all times can be set side by side as well as in turns, and that is what is said."""
    apart = replace(log_pair(0.0), paired=False)
    assert not over_pairs(log_pair(0.0), [apart]).paired
