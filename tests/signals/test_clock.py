"""At every moment exactly one part of the step is running."""

from __future__ import annotations

from time import perf_counter, perf_counter_ns

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


def started() -> tuple[PartClock, int]:
    """A clock at the start of a step, and that moment."""
    clock, now = PartClock(), perf_counter_ns()
    clock.start(now)
    return clock, now


def taken(clock: PartClock, end: int | None = None) -> list[float]:
    """The seconds of the step, which ends now."""
    lap = clock.take(perf_counter_ns() if end is None else end)
    clock.read()
    return lap


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
    end = perf_counter_ns()
    totals = taken(clock, end)
    assert len(totals) == len(PARTS) + 1
    assert min(totals) >= 0
    assert sum(totals) == pytest.approx((end - start) * 1e-9, abs=1e-9)


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
    totals = taken(clock)
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
    totals = taken(clock)
    assert totals[FORWARD] >= SPAN_S
    assert totals[REST] >= SPAN_S


def test_the_time_between_two_steps_is_in_neither() -> None:
    """What happens between the end of one step and the start of the next counts in no step."""
    clock, _ = started()
    clock.take(perf_counter_ns())
    clock.push(GC)
    spend()
    clock.pop()
    start = perf_counter_ns()
    clock.start(start)
    end = perf_counter_ns()
    assert sum(taken(clock, end)) == pytest.approx((end - start) * 1e-9, abs=1e-9)


def test_a_step_may_end_inside_a_part() -> None:
    """Where optimizers step inside backward, backward goes on in the next step."""
    clock, _ = started()
    clock.push(BACKWARD)
    clock.push(OPTIMIZER)
    clock.pop()
    clock.take(perf_counter_ns())
    clock.start(perf_counter_ns())
    spend()
    clock.pop()
    totals = taken(clock)
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


def test_the_tape_of_many_steps_is_read_at_once() -> None:
    """Each step gets its own time, in the order of their ends."""
    clock, _ = started()
    parts = (DATA_WAIT, BACKWARD, OPTIMIZER)
    laps = []
    for part in parts:
        clock.push(part)
        spend()
        clock.pop()
        laps.append(clock.take(perf_counter_ns()))
        clock.start(perf_counter_ns())
    assert laps == [[], [], []]
    clock.read()
    assert clock.tape == []
    for lap, part in zip(laps, parts, strict=True):
        assert lap[part] >= SPAN_S
        assert lap.index(max(lap)) == part


def test_a_tape_may_be_read_within_a_step() -> None:
    """What was open goes on, and nothing is lost."""
    clock, start = started()
    clock.push(BACKWARD)
    spend()
    clock.read()
    assert clock.inside(BACKWARD)
    spend()
    clock.pop_into(REST)
    clock.read()
    end = perf_counter_ns()
    totals = taken(clock, end)
    assert totals[BACKWARD] >= 2 * SPAN_S
    assert sum(totals) == pytest.approx((end - start) * 1e-9, abs=1e-9)


def test_a_new_beginning() -> None:
    """A forked child has its own first step, in the same lists."""
    clock, _ = started()
    tape, opened = clock.tape, clock.opened
    clock.push(BACKWARD)
    clock.take(perf_counter_ns())
    start = perf_counter_ns()
    clock.restart(start)
    assert (clock.tape, clock.opened) == ([], [])
    assert clock.tape is tape
    assert clock.opened is opened
    end = perf_counter_ns()
    assert taken(clock, end)[REST] == pytest.approx((end - start) * 1e-9, abs=1e-9)


def test_a_collection_between_the_clock_and_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks that come out of order make no part longer or negative, and the step no longer."""
    clock = PartClock()
    clock.start(10**9)
    moments = iter([1_500_000_000, 1_700_000_000, 1_400_000_000, 1_900_000_000])
    monkeypatch.setattr("ckpt_doctor.signals.clock.perf_counter_ns", lambda: next(moments))
    clock.push(GC)
    clock.pop()
    clock.push(BACKWARD)
    clock.pop_into(REST)
    totals = taken(clock, 2 * 10**9)
    assert totals[GC] == pytest.approx(0.2)
    assert totals[BACKWARD] == pytest.approx(0.3)
    assert sum(totals) == pytest.approx(1.0)


def test_a_collection_before_the_end_of_a_step_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies between two steps, and in neither."""
    clock = PartClock()
    clock.start(10**9)
    moments = iter([2_100_000_000, 2_300_000_000])
    monkeypatch.setattr("ckpt_doctor.signals.clock.perf_counter_ns", lambda: next(moments))
    clock.push(GC)
    clock.pop()
    lap = clock.take(2 * 10**9)
    clock.start(2_400_000_000)
    assert sum(taken(clock, 3 * 10**9)) == pytest.approx(0.6)
    assert sum(lap) == pytest.approx(1.0)
    assert lap[GC] == 0
