"""Batches that were not trained on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts import untrained
from ckpt_doctor.facts.run import StepSeries
from tests.builders import make_run


def _steps(batches: list[float], backwards: list[float]) -> StepSeries:
    counters = {"batches": batches, "backwards": backwards}
    return make_run([0.01] * len(batches), counters=counters).ranks[0].steps


def test_an_evaluation_is_what_goes_beyond_the_usual_step() -> None:
    """Steps with two batches and two backward passes, one of which has five batches."""
    steps = _steps([2, 2, 5, 2], [2, 2, 2, 2])
    usual = untrained.usual(steps, range(4))
    assert usual == untrained.Usual(2, 2)
    assert untrained.batches(steps, range(1, 4), usual) == {1: 0, 2: 3, 3: 0}


def test_more_accumulation_is_no_evaluation() -> None:
    """Batches that come with as many more backward passes are trained on."""
    steps = _steps([1, 1, 4, 1], [1, 1, 4, 1])
    assert untrained.batches(steps, [2], untrained.Usual(1, 1)) == {2: 0}


def test_fewer_passes_of_a_closure_are_no_evaluation() -> None:
    """LBFGS takes as many passes on a batch as it likes."""
    steps = _steps([1, 1, 1, 1], [20, 20, 3, 20])
    assert untrained.batches(steps, [2], untrained.Usual(1, 20)) == {2: 0}


def test_unknown_counts_are_no_zeros() -> None:
    """Runs without a loader, and steps that do not tell, have no usual step."""
    unknown = make_run([0.01] * 3).ranks[0].steps
    assert untrained.usual(unknown, range(3)) is None
    assert untrained.batches(unknown, range(3), untrained.Usual(1, 1)) == {}
    assert untrained.usual(_steps([1], [1]), []) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_never_more_than_what_was_drawn(rows: list[tuple[int, int]]) -> None:
    """Of no step more batches are called untrained than it drew."""
    steps = _steps([float(drawn) for drawn, _ in rows], [float(passed) for _, passed in rows])
    usual = untrained.usual(steps, range(len(rows)))
    assert usual is not None
    found = untrained.batches(steps, range(len(rows)), usual)
    assert all(found[i] <= drawn for i, (drawn, _) in enumerate(rows))
