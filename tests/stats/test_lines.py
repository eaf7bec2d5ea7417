"""The user's lines that grew."""

from __future__ import annotations

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
    assert abs(lines[1].delta_s) < 0.0005


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
