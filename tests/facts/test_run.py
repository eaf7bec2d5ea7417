"""Steps of a run, as rows."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.facts.comparison import Window
from tests.builders import make_run


def test_rows_that_stand_for_several_steps() -> None:
    """The time of a step is that of its row over the row's steps, and a window counts both."""
    run = make_run([1.0, 2.0, 3.0, 4.0])
    (rank,) = run.ranks
    steps = replace(rank.steps, strides=(1, 4, 4, 2))
    assert [steps.step_s(i) for i in range(4)] == [1.0, 0.5, 0.75, 2.0]
    rank = replace(rank, steps=steps)
    window = Window(run, rank, first=1, last=4, origin=0, step_s=0.9, samples_per_s=None)
    assert (window.steps, window.training_steps) == (3, 10)
    assert replace(window, rank=run.ranks[0]).training_steps == 3
