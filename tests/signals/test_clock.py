"""At every moment exactly one part of the step is running."""

from __future__ import annotations

import time
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.run import PARTS
from ckpt_doctor.signals.clock import (
    BACKWARD,
    COMPILE,
    DATA_WAIT,
    FORWARD,
    GC,
    OBSERVER,
    OPTIMIZER,
    REST,
    PartClock,
)

SPAN_S = 0.002


def spend(seconds: float = SPAN_S) -> None:
    """Let time go by."""
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


def started() -> tuple[PartClock, float]:
    """A clock at the start of a step, and that moment."""
    clock, now = PartClock(), perf_counter()
    clock.start(now)
    return clock, now


@given(st.lists(st.sampled_from([*range(len(PARTS)), None, "into"]), max_size=60))
def test_parts_add_up_whatever_happens(moves: list[object]) -> None:
    """After any sequence of starts and ends, also unbalanced ones, the parts add up to the time."""
    clock, start = started()
    for move in moves:
        if move is None:
            clock.pop()
        elif move == "into":
            clock.pop_into(FORWARD)
        else:
            clock.push(move)  # type: ignore[arg-type]
    end = perf_counter()
    totals = clock.take(end)
    assert len(totals) == len(PARTS) + 1
    assert min(totals) >= 0
    assert sum(totals) == pytest.approx(end - start, abs=1e-9)


def test_an_inner_part_interrupts_the_outer_one() -> None:
    """Compilation inside backward is compilation, and what follows it is backward again."""
    clock, _ = started()
    clock.push(BACKWARD)
    spend()
    clock.push(COMPILE)
    spend(2 * SPAN_S)
    clock.pop()
    spend()
    clock.pop()
    totals = clock.take(perf_counter())
    assert totals[COMPILE] >= 2 * SPAN_S
    assert totals[BACKWARD] >= 2 * SPAN_S
    assert totals[REST] < totals[BACKWARD] + totals[COMPILE]


def test_forward_runs_from_the_batch_to_backward() -> None:
    """Outside all parts, the time after a batch is forward, and after backward it is the rest."""
    clock, _ = started()
    clock.push(DATA_WAIT)
    clock.push(OBSERVER)
    clock.pop()
    clock.pop_into(FORWARD)
    spend()
    clock.push(BACKWARD)
    clock.pop_into(REST)
    spend()
    totals = clock.take(perf_counter())
    assert totals[FORWARD] >= SPAN_S
    assert totals[REST] >= SPAN_S


def test_the_time_between_two_steps_is_in_neither() -> None:
    """What happens between the end of one step and the start of the next counts in no step."""
    clock, _ = started()
    clock.take(perf_counter())
    clock.push(GC)
    spend()
    clock.pop()
    start = perf_counter()
    clock.start(start)
    end = perf_counter()
    assert sum(clock.take(end)) == pytest.approx(end - start, abs=1e-9)


def test_a_step_may_end_inside_a_part() -> None:
    """Where optimizers step inside backward, backward goes on in the next step."""
    clock, _ = started()
    clock.push(BACKWARD)
    clock.push(OPTIMIZER)
    clock.pop()
    clock.take(perf_counter())
    clock.start(perf_counter())
    spend()
    clock.pop()
    totals = clock.take(perf_counter())
    assert totals[BACKWARD] >= SPAN_S


def test_inside() -> None:
    """A part is open from its start to its end, also while another interrupts it."""
    clock, _ = started()
    assert not clock.inside(REST)
    clock.push(DATA_WAIT)
    clock.push(GC)
    assert clock.inside(DATA_WAIT)
    assert clock.inside(GC)
    clock.pop()
    assert clock.inside(DATA_WAIT)
    assert not clock.inside(GC)
    clock.pop_into(FORWARD)
    assert not clock.inside(DATA_WAIT)
    assert not clock.inside(FORWARD)


def test_parts_whose_end_was_skipped() -> None:
    """Going back to an earlier depth ends all that was started since."""
    clock, _ = started()
    clock.push(BACKWARD)
    depth = clock.depth
    clock.push(OPTIMIZER)
    clock.push(COMPILE)
    clock.unwind(depth)
    assert clock.depth == depth == 1
    time.sleep(0)
    spend()
    assert clock.take(perf_counter())[BACKWARD] >= SPAN_S
