"""The clock that stands still while a run is held."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.active_time import ActiveTime
from ckpt_doctor.facts.run import Turn


@given(
    st.lists(st.tuples(st.floats(0.1, 5.0), st.floats(0.1, 5.0)), min_size=1, max_size=8), st.floats(0.0, 1.0)
)
def test_it_never_runs_backwards_and_stands_still_in_pauses(
    pairs: list[tuple[float, float]], share: float
) -> None:
    """Between a turn's end and the next one's start the clock does not move."""
    turns, t_s = [], 0.0
    for work, pause in pairs:
        turns.append(Turn(t_s, t_s + work, "interleaved", False))
        t_s += work + pause
    clock = ActiveTime(turns)
    assert clock.at(turns[-1].t_end_s) == pytest.approx(sum(work for work, _ in pairs))
    for turn, following in pairwise(turns):
        inside = turn.t_end_s + share * (following.t_start_s - turn.t_end_s)
        assert clock.at(inside) == pytest.approx(clock.at(turn.t_end_s))
