"""Series of numbers that pictures, plots and exports share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.report import series
from tests.builders import SAVED_AT
from tests.report.sample import measured_report


def measured() -> Comparison:
    """The comparison of the measured report."""
    comparison = measured_report().comparison
    assert comparison is not None
    return comparison


def test_steps_count_from_the_save() -> None:
    """Relative step 0 is the first one after the save, and the process's first step is left out."""
    before = measured().before
    points = series.step_times(before)
    assert points[0][0] == 1 - SAVED_AT
    assert dict(points)[0] == before.rank.steps.step_s(SAVED_AT)
    assert len(points) == len(before.rank.steps) - 1


def test_turns_begin_at_steps() -> None:
    """The turns beside the other run begin where its steps say; those that it had alone are left out."""
    assert series.turn_starts(measured().before) == list(range(0, 200, 20))
    assert series.turn_starts(measured().after) == list(range(0, 200, 20))


def test_the_process_tree_over_running_time() -> None:
    """Rates are per second of running: pauses between turns count for nothing."""
    after = measured().after
    tree = series.process_tree(after.run, series.running_time(after), 10_000)
    steps = after.rank.steps
    running_s = sum(steps.step_s(i) for i in range(len(steps)))
    assert tree.rss_bytes[-1][0] - tree.rss_bytes[0][0] == pytest.approx(running_s)
    assert max(value for _, value in tree.cpu_cores) == pytest.approx(1.0)
    assert max(value for _, value in tree.read_bytes_per_s) > 12_400_000 / 0.03


def test_samples_that_lie_close_together_are_told_as_one() -> None:
    """What a run used between two turns, in no time of its own, is no peak of the picture."""
    after = measured().after
    first = after.run.samples[0]
    close = [
        replace(first, t_s=first.t_s + t_s, cpu_s=first.cpu_s + cpu_s)
        for t_s, cpu_s in ((0.0, 0.0), (0.1, 0.1), (0.10001, 0.11), (0.2, 0.2))
    ]
    tree = series.process_tree(replace(after.run, samples=tuple(close)), lambda t_s: t_s, 100)
    assert [value for _, value in tree.cpu_cores] == pytest.approx([1.0, 1.0])


def test_what_is_not_known_is_empty() -> None:
    """Where the disk's reads cannot be seen there is no series of zeros."""
    after = measured().after
    samples = tuple(replace(sample, physical_read_bytes=None) for sample in after.run.samples)
    tree = series.process_tree(replace(after.run, samples=samples), lambda t_s: t_s, 100)
    assert tree.read_bytes_per_s == []
    assert len(tree.rss_bytes) < 200


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=500), st.integers(2, 60))
def test_thinning_keeps_the_extremes(values: list[float], most: int) -> None:
    """Few points are left, in order, among them the lowest and the highest."""
    points = [(float(i), value) for i, value in enumerate(values)]
    kept = series.thinned(points, most)
    assert len(kept) <= most
    assert list(kept) == sorted(kept)
    assert set(kept) <= set(points)
    assert {min(values), max(values)} <= {value for _, value in kept}
