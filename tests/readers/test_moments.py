"""At every moment exactly one part of the step is running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.moments import (
    BACKWARD,
    COMPILE,
    DATA_WAIT,
    END,
    FED,
    FORWARD,
    GC,
    HELD,
    KINDS,
    MAX_DIGESTS,
    OBSERVER,
    OPTIMIZER,
    OVER,
    REST,
    START,
    TAKE,
    UPDATE,
)
from ckpt_doctor.facts.run import PARTS
from ckpt_doctor.readers.moments import Lap, Laps

Marks = Sequence[tuple[int, int]]
NOTHING: list[Any] = [[], None]


def by_kind(marks: Marks) -> list[list[int]]:
    """What an agent writes down of things that happen, given as (kind, moment)."""
    return [[moment_ns for kind, moment_ns in marks if kind == what] for what in range(KINDS)]


def told(laps: Laps, marks: Marks, fed: Sequence[Any] = ()) -> list[Lap]:
    """The steps that end by these marks."""
    return list(laps.read(by_kind(marks), fed))


def parts(lap: Lap) -> dict[int, int]:
    """Nanoseconds of the parts that took any."""
    return {part: ns for part, ns in enumerate(lap.parts_ns) if ns}


@given(
    st.lists(
        st.tuples(st.sampled_from([*range(len(PARTS)), END, OVER, UPDATE, FED]), st.integers(0, 50)),
        max_size=60,
    ),
    st.integers(0, 59),
)
def test_parts_add_up_whatever_happens(moves: list[tuple[int, int]], cut: int) -> None:
    """After any sequence of starts and ends, also unbalanced ones, the parts add up to the time."""
    now, marks = 1000, []
    for what, pause_ns in moves:
        now += pause_ns
        marks.append((what, now))
    fed = [NOTHING for what, _ in moves if what == FED]
    (lap,) = told(Laps(1000), [*marks, (TAKE, now + 1)], fed)
    assert len(lap.parts_ns) == len(PARTS) + 1
    assert min(lap.parts_ns) >= 0
    assert (lap.start_ns, lap.end_ns) == (1000, now + 1)
    assert sum(lap.parts_ns) == now + 1 - 1000
    kinds = [what for what, _ in moves]
    assert lap.counted.get("batches", 0) == kinds.count(FED)
    assert lap.counted.get("backwards", 0) == kinds.count(BACKWARD)
    assert lap.counted.get("gc_pauses", 0) == kinds.count(GC)
    assert lap.counted["optimizer_steps"] == kinds.count(UPDATE) + 1
    early = [mark for mark in marks if mark[1] <= 1000 + cut]
    laps = Laps(1000)
    assert told(laps, early, fed) == []
    assert told(laps, [*marks[len(early) :], (TAKE, now + 1)]) == [lap]


def test_an_inner_part_interrupts_the_outer_one() -> None:
    """Compilation inside backward is compilation, and what follows it is backward again."""
    marks = [(BACKWARD, 10), (COMPILE, 30), (END, 70), (OVER, 75), (TAKE, 80)]
    (lap,) = told(Laps(0), marks)
    assert parts(lap) == {REST: 15, BACKWARD: 25, COMPILE: 40}


def test_forward_runs_from_the_batch_to_backward() -> None:
    """Outside all parts, the time after a batch is forward, and after backward it is the rest."""
    marks = [(DATA_WAIT, 1), (FED, 4), (END, 5), (BACKWARD, 25), (OVER, 55), (TAKE, 62)]
    (lap,) = told(Laps(0), marks, [NOTHING])
    assert parts(lap) == {REST: 8, DATA_WAIT: 3, OBSERVER: 1, FORWARD: 20, BACKWARD: 30}


def test_forward_does_not_go_on_into_the_next_step() -> None:
    """A step without a batch of its own has none."""
    marks = [(DATA_WAIT, 1), (FED, 4), (END, 5), (TAKE, 10), (START, 11), (TAKE, 15)]
    assert [parts(lap).get(FORWARD) for lap in told(Laps(0), marks, [NOTHING])] == [5, None]


def test_an_update_ends_the_part_in_which_the_optimizer_steps() -> None:
    """What follows it is no optimizer's time, and a part around it goes on."""
    marks = [(BACKWARD, 0), (OPTIMIZER, 10), (UPDATE, 12), (OPTIMIZER, 20), (UPDATE, 23)]
    skipped = (UPDATE, 30)  # no step was begun
    (lap,) = told(Laps(0), [*marks, skipped, (TAKE, 50)])
    assert parts(lap) == {BACKWARD: 45, OPTIMIZER: 5}
    assert lap.counted["optimizer_steps"] == 4


def test_what_batches_bring() -> None:
    """Elements and samples add up, and the last digests are kept."""
    marks = [mark for n in range(20) for mark in ((DATA_WAIT, 10 * n), (FED, 10 * n + 1), (END, 10 * n + 2))]
    fed = [[[[4, 3], [6], []], f"i:{number}" if number != 18 else None] for number in range(20)]
    (lap,) = told(Laps(0), [*marks, (TAKE, 300)], fed)
    assert lap.counted == {"batches": 20, "elements": 380, "samples": 120, "optimizer_steps": 1}
    assert lap.digests == [f"i:{number}" for number in range(20) if number != 18][-MAX_DIGESTS:]


def test_a_ragged_tensor() -> None:
    """Its samples are counted; its elements are not known."""
    (lap,) = told(Laps(0), [(DATA_WAIT, 1), (FED, 2), (END, 3), (TAKE, 9)], [[[[3, "j1", 5], [2, 2]], None]])
    assert lap.counted == {"batches": 1, "elements": 4, "samples": 3, "optimizer_steps": 1}


def test_the_time_between_two_steps_is_in_neither() -> None:
    """What happens between the end of one step and the start of the next counts in no step."""
    _, after = told(Laps(0), [(TAKE, 10), (GC, 11), (END, 15), (START, 20), (TAKE, 29)])
    assert (after.start_ns, after.end_ns, parts(after)) == (20, 29, {REST: 9})


def test_what_the_observer_takes() -> None:
    """Its part of a step, and what it does between that step and the next one, until the process is held."""
    laps = Laps(0)
    told(laps, [(OBSERVER, 100), (END, 130), (TAKE, 200), (START, 205)])
    told(laps, [(OBSERVER, 300), (END, 310), (TAKE, 400), (HELD, 407), (START, 900), (TAKE, 950)])
    assert laps.observed_ns == [35, 17]


def test_a_step_may_end_inside_a_part() -> None:
    """Where optimizers step inside backward, backward goes on in the next step."""
    marks = [(BACKWARD, 5), (OPTIMIZER, 8), (TAKE, 10), (START, 11), (OVER, 31), (TAKE, 40)]
    _, after = told(Laps(0), marks)
    assert parts(after) == {BACKWARD: 20, REST: 9}


def test_a_first_step_that_begins_anew() -> None:
    """What came before, and was forgotten, is in no step; what it left open ends without harm."""
    marks = [(DATA_WAIT, 50), (START, 100), (FED, 105), (END, 106), (TAKE, 120)]
    (lap,) = told(Laps(0), marks, [NOTHING])
    assert lap.start_ns == 100
    assert sum(lap.parts_ns) == 20


def test_a_collection_between_the_clock_and_its_mark() -> None:
    """Marks that come out of order make no part longer or negative, and the step no longer."""
    marks = [(GC, 150), (END, 170), (BACKWARD, 140), (OVER, 190), (TAKE, 200)]
    (lap,) = told(Laps(100), marks)
    assert parts(lap) == {GC: 20, BACKWARD: 30, REST: 50}


def test_a_collection_before_the_end_of_a_step_is_written_down() -> None:
    """It lies between two steps, and in neither; it is counted in the later one."""
    before, after = told(Laps(100), [(GC, 210), (END, 230), (TAKE, 200), (START, 240), (TAKE, 300)])
    assert sum(after.parts_ns) == 60
    assert sum(before.parts_ns) == 100
    assert "gc_pauses" not in before.counted
    assert after.counted["gc_pauses"] == 1
