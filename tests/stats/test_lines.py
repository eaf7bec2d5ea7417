"""The user's lines that grew."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.stats.alignment import align
from ckpt_doctor.stats.lines import grown_lines, sampler_cost
from tests.builders import control, make_run, resumed


def _sampled(run: RunRecord) -> RunRecord:
    """The same run with stacks taken in every other turn."""
    return replace(run, turns=tuple(replace(t, sampled=i % 2 == 1) for i, t in enumerate(run.turns)))


def test_the_line_that_grew_comes_first_with_its_time_per_step() -> None:
    """8 ms per step in a new line are found, whatever the length of the sampling."""
    before = control(lines={("train.py", 3): 0.004})
    after = resumed(0.018, lines={("train.py", 3): 0.004, ("train.py", 9): 0.008})
    alignment = align(before, after, (0, 0))
    lines = grown_lines(alignment.before, alignment.after)
    assert (lines[0].line.file, lines[0].line.line) == ("train.py", 9)
    assert lines[0].delta_s == pytest.approx(0.008, rel=0.05)
    assert len(lines) == 1


def _grown(before: RunRecord, after: RunRecord, samples: int) -> list[int]:
    """The numbers of the lines that grew, where each side has so many samples."""
    sides = (
        replace(run, stacks=tuple(replace(each, samples=samples) for each in run.stacks))
        for run in (before, after)
    )
    alignment = align(*sides, (0, 0))
    return [delta.line.line for delta in grown_lines(alignment.before, alignment.after)]


def test_what_luck_makes_of_equal_lines_is_not_named() -> None:
    """Of 100 pairs of 270 samples of equal code hardly any names a line; a fifth of a step always is."""
    rng = random.Random(5)
    numbers = range(1, 13)
    weights = [2.0 ** -(number % 6) for number in numbers]
    wrong = 0
    for _ in range(100):
        before, after = (
            {("train.py", line): hits * 0.01 / 270 for line, hits in Counter(drawn).items()}
            for drawn in (rng.choices(numbers, weights, k=270) for _ in range(2))
        )
        wrong += bool(_grown(control(lines=before), resumed(lines=after), 270))
        slower = resumed(0.0125, lines={**after, ("train.py", 42): 0.0025})
        assert _grown(control(lines=before), slower, 270)[0] == 42
    assert wrong <= 3


def test_new_lines_of_one_function_are_judged_together() -> None:
    """Each of six new lines has too few samples, all of them have enough; so few of one line are luck."""
    known = {("train.py", 3): 0.009}
    fresh = {("train.py", 10 + number): 0.0003 for number in range(6)}
    together = _grown(control(lines=known), resumed(lines={**known, **fresh}), 200)
    assert sorted(together) == [line for _, line in fresh]
    alone = _grown(control(lines=known), resumed(lines={**known, ("train.py", 10): 0.0003}), 200)
    assert alone == []


def test_without_stacks_on_both_sides_no_line_is_named() -> None:
    """Lines of one side alone would all look grown."""
    alignment = align(control(), resumed(lines={("train.py", 3): 0.004}), (0, 0))
    assert grown_lines(alignment.before, alignment.after) == ()


def test_the_sampler_s_cost_is_seen_within_a_run() -> None:
    """Turns with the sampler against those without it beside them; where they are alike it costs nothing."""
    times = ([0.010] * 20 + [0.011] * 20) * 5
    run = _sampled(make_run(times, turn_steps=20))
    arm = align(run, run, (0, 0)).before
    cost = sampler_cost((arm, arm))
    assert cost is not None
    assert cost.value == pytest.approx(1.1, rel=0.01)
    assert cost.low > 1.05
    both = align(_sampled(control()), _sampled(resumed()), (0, 0))
    cost = sampler_cost((both.before, both.after))
    assert cost is not None
    assert cost.low < 1.0 < cost.high
    plain = align(control(), resumed(), (0, 0))
    assert sampler_cost((plain.before, plain.after)) is None
