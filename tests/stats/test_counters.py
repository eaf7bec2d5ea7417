"""Counters per step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.facts.run import Turn
from ckpt_doctor.stats.alignment import align
from ckpt_doctor.stats.counters import compare_counters, growth
from tests.builders import control, event, make_run, resumed


def test_sampled_bytes_are_per_step_and_stand_still_in_pauses() -> None:
    """Bytes that were read in the turns are divided by the turns' steps."""
    alignment = align(control(), resumed(sampled={"physical_read_bytes": 5000}), (0, 0))
    counter = compare_counters(alignment.before, alignment.after)["physical_read_bytes"]
    assert counter.before == 0
    assert counter.after == pytest.approx(5000, rel=0.01)
    assert counter.unit == "bytes/step"


def test_pauses_do_not_smear_what_was_done_before_them() -> None:
    """With rare samples, growth is spread over the time at work and not over the pause."""
    turns = [Turn(0.0, 1.0, "interleaved", False), Turn(11.0, 12.0, "interleaved", False)]
    samples = make_run([1.0, 1.0]).samples
    moved = [replace(samples[0], t_s=0.0, cpu_s=0.0), replace(samples[0], t_s=12.0, cpu_s=2.0)]
    found = growth(moved, lambda s: s.cpu_s, [(11.0, 12.0)], turns)  # type: ignore[union-attr]
    assert found == pytest.approx(1.0)


def test_a_process_that_ends_does_not_count_backwards() -> None:
    """A cumulative counter that falls has lost a process, not work."""
    run = make_run([1.0] * 10, sampled={"cpu_s": [1.0] * 5 + [-3.0] + [1.0] * 4})
    stretch = [(run.ranks[0].steps.t_start_s[0], run.ranks[0].steps.t_end_s[-1])]
    assert growth(run.samples, lambda s: s.cpu_s, stretch, ()) == pytest.approx(9.0)  # type: ignore[union-attr]


def test_what_was_not_sampled_is_unknown_and_not_zero() -> None:
    """Without samples there is no counter of the process tree."""
    before, after = make_run([1.0] * 50), make_run([1.0] * 50, arm="after")
    alignment = align(before, after, (0, 0))
    assert "physical_read_bytes" not in compare_counters(alignment.before, alignment.after)


def test_events_are_counted_within_the_window_only() -> None:
    """Worker starts before the window are the start's, not the window's."""
    starts = [event("worker_start", i, 0.1) for i in (0, 20, 40)]
    before = make_run([1.0] * 50)
    after = make_run([1.0] * 50, arm="after", events=starts)
    alignment = align(before, after, (0, 0))
    counter = compare_counters(alignment.before, alignment.after)["worker_starts"]
    assert counter.before == 0
    assert counter.after == pytest.approx(2 / 40)


def test_a_signal_that_could_not_be_installed_is_unknown() -> None:
    """Without the hook, no event means nothing."""
    before = make_run([1.0] * 50, not_measured={"worker_start": "no torch.utils.data"})
    after = make_run([1.0] * 50, arm="after")
    alignment = align(before, after, (0, 0))
    counter = compare_counters(alignment.before, alignment.after)["worker_starts"]
    assert counter.before is None
    assert counter.after == 0
    assert counter.delta is None


def test_counts_that_one_side_never_raised_are_zero_there() -> None:
    """Garbage collections are counted only when they happen."""
    before = make_run([1.0] * 50)
    after = make_run([1.0] * 50, arm="after", counters={"gc_pauses": 2})
    alignment = align(before, after, (0, 0))
    counter = compare_counters(alignment.before, alignment.after)["gc_pauses"]
    assert (counter.before, counter.after) == (0.0, 2.0)
