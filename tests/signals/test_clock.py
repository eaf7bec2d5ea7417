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
    END,
    FED,
    FORWARD,
    GC,
    HELD,
    MAX_DIGESTS,
    OBSERVER,
    OPTIMIZER,
    OVER,
    REST,
    START,
    TAKE,
    UPDATE,
    Lap,
    PartClock,
)

SPAN_S = 0.002


def spend(seconds: float = SPAN_S) -> None:
    """Let time go by."""
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


def mark(clock: PartClock, what: int, moment_ns: int | None = None) -> None:
    """Something happens, now unless another moment is given."""
    clock.marker(what)(perf_counter_ns() if moment_ns is None else moment_ns)


def started() -> tuple[PartClock, int]:
    """A clock at the start of a step, and that moment."""
    clock, now = PartClock(), perf_counter_ns()
    mark(clock, START, now)
    return clock, now


def taken(clock: PartClock, end: int | None = None) -> Lap:
    """The last step that was taken, which is one that ends now."""
    mark(clock, TAKE, end)
    clock.read()
    return clock.laps[-1]


@given(st.lists(st.sampled_from([*range(len(PARTS)), END, OVER, UPDATE, "fed"]), max_size=60))
def test_parts_add_up_whatever_happens(moves: list[int | str]) -> None:
    """After any sequence of starts and ends, also unbalanced ones, the parts add up to the time."""
    clock, start = started()
    for move in moves:
        if move == "fed":
            clock.fed.append(((), None))
        mark(clock, FED if isinstance(move, str) else move)
    end = perf_counter_ns()
    lap = taken(clock, end)
    assert len(lap.seconds) == len(PARTS) + 1
    assert min(lap.seconds) >= 0
    assert (lap.start_ns, lap.end_ns) == (start, end)
    assert sum(lap.seconds) == pytest.approx((end - start) * 1e-9, abs=1e-9)
    assert lap.counted.get("batches", 0) == moves.count("fed")
    assert lap.counted.get("backwards", 0) == moves.count(BACKWARD)
    assert lap.counted.get("gc_pauses", 0) == moves.count(GC)
    assert lap.counted["optimizer_steps"] == moves.count(UPDATE) + 1


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
    seconds = taken(clock).seconds
    assert seconds[COMPILE] >= 2 * SPAN_S
    assert seconds[BACKWARD] >= 2 * SPAN_S
    assert seconds[REST] < seconds[BACKWARD] + seconds[COMPILE]


def test_forward_runs_from_the_batch_to_backward() -> None:
    """Outside all parts, the time after a batch is forward, and after backward it is the rest."""
    clock, _ = started()
    mark(clock, DATA_WAIT)
    clock.fed.append(((), None))
    mark(clock, FED)
    spend()
    mark(clock, END)
    spend()
    mark(clock, BACKWARD)
    mark(clock, OVER)
    spend()
    seconds = taken(clock).seconds
    assert seconds[OBSERVER] >= SPAN_S
    assert seconds[FORWARD] >= SPAN_S
    assert seconds[REST] >= SPAN_S


def test_an_update_ends_the_part_in_which_the_optimizer_steps() -> None:
    """What follows it is no optimizer's time, and a part around it goes on."""
    clock, _ = started()
    mark(clock, BACKWARD)
    for _ in range(2):
        mark(clock, OPTIMIZER)
        mark(clock, UPDATE)
    spend()
    mark(clock, UPDATE)  # skipped: no step was begun
    spend()
    seconds = taken(clock).seconds
    assert seconds[BACKWARD] >= 2 * SPAN_S
    assert seconds[OPTIMIZER] < SPAN_S


def test_what_batches_bring() -> None:
    """Elements and samples add up, and the last digests are kept."""
    clock, _ = started()
    for number in range(20):
        mark(clock, DATA_WAIT)
        clock.fed.append((((4, 3), (6,), ()), f"i:{number}" if number != 18 else None))
        mark(clock, FED)
        mark(clock, END)
    lap = taken(clock)
    assert lap.counted == {"batches": 20, "elements": 380, "samples": 120, "optimizer_steps": 1}
    assert lap.digests == [f"i:{number}" for number in range(20) if number != 18][-MAX_DIGESTS:]
    assert clock.fed == []


def test_the_time_between_two_steps_is_in_neither() -> None:
    """What happens between the end of one step and the start of the next counts in no step."""
    clock, _ = started()
    mark(clock, TAKE)
    clock.push(GC)
    spend()
    clock.pop()
    start = perf_counter_ns()
    mark(clock, START, start)
    end = perf_counter_ns()
    assert sum(taken(clock, end).seconds) == pytest.approx((end - start) * 1e-9, abs=1e-9)


def test_what_the_observer_takes() -> None:
    """Its part of a step, and what it does between that step and the next one, until the process is held."""
    clock = PartClock()
    clock.restart(0)
    for what, moment_ns in ((OBSERVER, 100), (END, 130), (TAKE, 200), (START, 205)):
        mark(clock, what, moment_ns)
    for what, moment_ns in ((OBSERVER, 300), (END, 310), (TAKE, 400), (HELD, 407), (START, 900), (TAKE, 950)):
        mark(clock, what, moment_ns)
    clock.read()
    assert clock.observed_ns == [35, 17]


def test_a_step_may_end_inside_a_part() -> None:
    """Where optimizers step inside backward, backward goes on in the next step."""
    clock, _ = started()
    mark(clock, BACKWARD)
    mark(clock, OPTIMIZER)
    mark(clock, TAKE)
    mark(clock, START)
    spend()
    mark(clock, OVER)
    assert taken(clock).seconds[BACKWARD] >= SPAN_S


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
    clock.pop()
    assert not clock.inside(DATA_WAIT)
    assert not clock.inside(FORWARD)


def test_many_steps_are_read_at_once() -> None:
    """Each step gets its own time, in the order of their ends."""
    clock, _ = started()
    parts = (DATA_WAIT, BACKWARD, OPTIMIZER)
    for part in parts:
        clock.push(part)
        spend()
        clock.pop()
        mark(clock, TAKE)
        mark(clock, START)
    assert clock.laps == []
    clock.read()
    for lap, part in zip(clock.laps, parts, strict=True):
        assert lap.seconds[part] >= SPAN_S
        assert lap.seconds.index(max(lap.seconds)) == part
    clock.read()
    assert len(clock.laps) == len(parts)


def test_a_clock_may_be_read_within_a_step() -> None:
    """What was open goes on, and nothing is lost."""
    clock, start = started()
    clock.push(BACKWARD)
    spend()
    clock.read()
    assert clock.inside(BACKWARD)
    spend()
    mark(clock, OVER)
    clock.read()
    end = perf_counter_ns()
    lap = taken(clock, end)
    assert lap.seconds[BACKWARD] >= 2 * SPAN_S
    assert sum(lap.seconds) == pytest.approx((end - start) * 1e-9, abs=1e-9)
    assert lap.counted == {"backwards": 1, "optimizer_steps": 1}


def test_a_new_beginning() -> None:
    """A forked child has its own first step, in the same lists."""
    clock, _ = started()
    fed, opened, begin = clock.fed, clock.opened, clock.marker(BACKWARD)
    clock.push(BACKWARD)
    fed.append(((), None))
    taken(clock)
    mark(clock, TAKE)
    start = perf_counter_ns()
    clock.restart(start)
    assert (clock.fed, clock.opened, clock.laps) == ([], [], [])
    assert clock.fed is fed
    assert clock.opened is opened
    begin(start)
    end = perf_counter_ns()
    assert taken(clock, end).seconds[BACKWARD] == pytest.approx((end - start) * 1e-9, abs=1e-9)


def test_a_collection_between_the_clock_and_its_mark() -> None:
    """Marks that come out of order make no part longer or negative, and the step no longer."""
    clock = PartClock()
    mark(clock, START, 10**9)
    mark(clock, GC, 1_500_000_000)
    mark(clock, END, 1_700_000_000)
    mark(clock, BACKWARD, 1_400_000_000)
    mark(clock, OVER, 1_900_000_000)
    seconds = taken(clock, 2 * 10**9).seconds
    assert seconds[GC] == pytest.approx(0.2)
    assert seconds[BACKWARD] == pytest.approx(0.3)
    assert sum(seconds) == pytest.approx(1.0)


def test_a_collection_before_the_end_of_a_step_is_written_down() -> None:
    """It lies between two steps, and in neither; it is counted in the later one."""
    clock = PartClock()
    mark(clock, START, 10**9)
    mark(clock, GC, 2_100_000_000)
    mark(clock, END, 2_300_000_000)
    mark(clock, TAKE, 2 * 10**9)
    mark(clock, START, 2_400_000_000)
    after = taken(clock, 3 * 10**9)
    before = clock.laps[0]
    assert sum(after.seconds) == pytest.approx(0.6)
    assert sum(before.seconds) == pytest.approx(1.0)
    assert before.seconds[GC] == 0
    assert "gc_pauses" not in before.counted
    assert after.counted["gc_pauses"] == 1
