"""What a process pays until its first step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.stats.alignment import align
from ckpt_doctor.stats.start_cost import settling_s, start_cost, usual_batches
from tests.builders import START_UP_S, event, make_run


def test_events_of_the_first_step_are_split_by_kind() -> None:
    """Loads and compilations until the first step's end are told apart; later ones are not counted."""
    events = [
        event("imports", 0, 1.5),
        event("load", 0, 0.2),
        event("load", 0, 0.3),
        event("compile", 0, 4.0),
        event("compile", 9, 7.0),
    ]
    run = make_run([0.5] * 20, events=events, not_measured={"worker_start": "why"})
    cost = start_cost(run, run.ranks[0])
    assert cost.first_step_s == pytest.approx(START_UP_S + 0.5)
    assert (cost.imports_s, cost.load_s, cost.compile_s) == (1.5, 0.5, 4.0)
    assert cost.workers_s is None


def test_dropped_batches_take_their_part_of_the_first_data_wait() -> None:
    """Of 51 batches before the first step, 50 were dropped."""
    run = make_run(
        [6.0] + [1.0] * 9, counters={"batches": [51] + [1] * 9}, parts={"data_wait": [5.1] + [0.1] * 9}
    )
    cost = start_cost(run, run.ranks[0])
    assert cost.batches_drawn == 51
    assert cost.fast_forward_s == pytest.approx(5.0)


def test_accumulated_micro_batches_are_no_replay() -> None:
    """A first step that draws as many batches as every other one dropped none."""
    run = make_run([1.0] * 10, counters={"batches": 4}, parts={"data_wait": 0.1})
    assert usual_batches(run.ranks[0]) == 4
    assert start_cost(run, run.ranks[0]).fast_forward_s == 0.0


def test_without_a_loader_nothing_is_known_of_batches() -> None:
    """Absent is not zero."""
    run = make_run([1.0] * 10)
    cost = start_cost(run, run.ranks[0])
    assert cost.batches_drawn is None
    assert cost.fast_forward_s is None


def test_time_that_the_probe_held_the_process_is_left_out() -> None:
    """A pause between the first two turns is no cost of the start."""
    run = make_run([1.0] * 6, turn_steps=1)
    assert start_cost(run, run.ranks[0]).first_step_s == pytest.approx(START_UP_S + 1.0)


def test_settling_is_what_the_steps_before_the_window_cost_more() -> None:
    """Three slow steps after the first one add up; the first step is the start's."""
    before = make_run([1.0] * 100)
    after = make_run([9.0, 3.0, 2.0, 1.5] + [1.0] * 96, arm="after")
    alignment = align(before, after, (0, 0))
    assert settling_s(alignment.before, alignment.after) == pytest.approx(2.0 + 1.0 + 0.5)


def test_evidence_that_begins_within_the_run() -> None:
    """A trace does not tell what the process paid before it, nor whether its first steps are the run's."""
    run = make_run([5.0] * 8 + [1.0] * 40, events=[event("load", 0, 0.2)], counters={"batches": 9})
    (rank,) = run.ranks
    later = replace(rank, sees_start=False)
    cost = start_cost(run, later)
    assert set(vars(cost).values()) == {None}
    alignment = align(run, replace(run, ranks=(later,)), (0, 0))
    assert settling_s(alignment.before, alignment.after) is None
