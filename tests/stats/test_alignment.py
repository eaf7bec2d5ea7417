"""Which steps are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.errors import RecordingError
from ckpt_doctor.stats.alignment import after_pause, align, warm_up_steps
from tests.builders import control, event, make_run, resumed


def test_both_windows_hold_the_same_relative_steps() -> None:
    """Steps are counted from the save on one side and from the resume on the other."""
    alignment = align(make_run([1.0] * 100, origin=40), make_run([1.0] * 50, arm="after"), (0, 0))
    assert [i - 40 for i in alignment.before.chosen] == list(alignment.after.chosen)
    assert alignment.after.first == 10
    assert alignment.before.last == 90
    assert not alignment.paired


def test_only_interleaved_turns_are_compared_where_there_are_any() -> None:
    """The control's block alone is left out, and each turn keeps its own steps but the first."""
    before = make_run([1.0] * 200, origin=40, turn_steps=20, alone_turns=4)
    after = make_run([1.0] * 160, arm="after", turn_steps=20, alone_turns=2)
    alignment = align(before, after, (0, 0))
    assert alignment.paired
    assert min(alignment.before.chosen) >= 80
    assert [len(turn) for turn in alignment.after.by_turn] == [19] * 6


def test_each_phase_has_its_own_turns() -> None:
    """What is compared in one phase leaves the turns of another out, on both sides."""
    before = make_run([1.0] * 240, origin=40, turn_steps=20)
    after = make_run([1.0] * 200, arm="after", turn_steps=20)
    later = "confirm-DAT204"
    before = replace(before, turns=(*before.turns[:7], *(replace(t, phase=later) for t in before.turns[7:])))
    after = replace(after, turns=(*after.turns[:5], *(replace(t, phase=later) for t in after.turns[5:])))
    first, second = align(before, after, (0, 0)), align(before, after, (0, 0), phase=later)
    assert (first.before.last, first.after.last) == (140, 100)
    assert (second.before.first, second.after.first) == (141, 101)
    assert (len(first.after.by_turn), len(second.after.by_turn)) == (5, 5)
    assert not align(before, after, (0, 0), phase="confirm-CMP305").paired


def test_the_first_step_after_a_pause_is_left_out() -> None:
    """However slow the pause makes it, and in however short a turn, it is no part of what is compared."""
    for turn_steps in (4, 20):
        slow = [9.0 if i % turn_steps == 0 else 1.0 for i in range(200)]
        before = make_run(slow, origin=40, turn_steps=turn_steps)
        after = make_run([1.0] * 160, arm="after", turn_steps=turn_steps)
        alignment = align(before, after, (0, 0))
        assert max(alignment.before.times_s()) == pytest.approx(1.0)
        assert len(alignment.before.chosen) == len(alignment.after.chosen)


def test_a_turn_of_two_steps_keeps_both() -> None:
    """Of so few none can be spared: at most a third of a turn is left out."""
    rank = make_run([1.0] * 10).ranks[0]
    assert after_pause((3, 4), rank) == (3, 4)
    assert after_pause((3, 4, 5), rank) == (4, 5)


def test_steps_fed_by_what_was_prefetched_before_the_pause_are_left_out() -> None:
    """With two workers that prefetch two batches each, a turn's first four steps do not count."""
    loader = event("loader", 0, loader=0, num_workers=2, prefetch_factor=2)
    before = make_run([1.0] * 200, origin=40, turn_steps=20, events=[loader])
    after = make_run([1.0] * 160, arm="after", turn_steps=20, events=[loader])
    alignment = align(before, after, (0, 0))
    assert {len(turn) for turn in alignment.after.by_turn[1:]} == {16}
    assert alignment.after.by_turn[1][0] == 24


def test_a_control_that_ended_at_its_save_is_taken_from_before_it() -> None:
    """Its steps before the save stand in, and that is said."""
    alignment = align(make_run([1.0] * 65, origin=60), make_run([1.0] * 50, arm="after"), (0, 0))
    assert alignment.before.origin == 0
    assert alignment.before.last <= 60
    assert "5 steps after its save" in alignment.notes["control"]


def test_arms_with_hardly_any_common_steps_are_compared_on_all_of_their_turns() -> None:
    """A slow resumed run that never reaches the control's steps is compared all the same."""
    before = make_run([1.0] * 400, origin=0, turn_steps=40, alone_turns=5)
    after = make_run([4.0] * 100, arm="after", turn_steps=20)
    alignment = align(before, after, (0, 0))
    assert len(alignment.after.chosen) == 86
    assert "different steps" in alignment.notes["steps"]


def test_a_compilation_that_the_control_had_as_well_is_no_lasting_cost() -> None:
    """A step in which a fresh process first meets a shape is left out of both windows."""
    compiled = [event("compile", 0, 2.0), event("compile", 50, 2.0)]
    before = make_run([1.0] * 200, origin=60, events=compiled)
    after = make_run([1.0] * 120, arm="after", events=compiled)
    assert 50 not in align(before, after, (0, 0)).after.chosen


def test_compilations_that_recur_stay_in_the_window() -> None:
    """A resumed run that compiles again and again pays for it in its steps."""
    before = make_run([1.0] * 200, origin=60, events=[event("compile", 0, 2.0)])
    after = make_run([1.0] * 120, arm="after", events=[event("compile", i, 2.0) for i in range(0, 120, 20)])
    assert {20, 40, 60, 80, 100} <= set(align(before, after, (0, 0)).after.chosen)


def test_too_few_steps_are_told_in_one_line() -> None:
    """Two steps cannot be compared."""
    with pytest.raises(RecordingError, match="rec/after: rank 0 has 2 steps"):
        align(control(), make_run([1.0, 1.0], arm="after"), (0, 0))


def test_the_warm_up_is_a_quarter_of_short_windows() -> None:
    """Ten steps at most, one at least."""
    assert [warm_up_steps(n) for n in (3, 20, 40, 500)] == [1, 5, 10, 10]


def test_stretches_cover_the_turns_but_not_the_pauses() -> None:
    """The time at work is that of the turns."""
    alignment = align(control(turn_steps=20), resumed(turn_steps=20), (0, 0))
    spent = sum(b - a for a, b, _ in alignment.after.stretches())
    assert spent == pytest.approx(sum(alignment.after.times_s()))
