"""The budget of a step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.stats.alignment import align
from ckpt_doctor.stats.attribution import budget, measured_parts, resample
from tests.builders import control, make_run, resumed

Share = st.floats(0.0, 0.2)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(1e-3, 1.0), min_size=30, max_size=60),
    st.lists(st.floats(1e-3, 1.0), min_size=30, max_size=60),
    st.tuples(Share, Share, Share, Share),
    st.booleans(),
)
def test_parts_add_up_to_the_measured_difference(
    before: list[float], after: list[float], shares: tuple[float, ...], turns: bool
) -> None:
    """Whatever the steps and their parts, the differences of the parts sum to that of the step time."""
    names = ("data_wait", "forward", "backward", "optimizer")
    arms = [
        make_run(
            times,
            arm=arm,
            parts={n: [s * t for t in times] for n, s in zip(names, shares, strict=True)},
            turn_steps=5 if turns else None,
        )
        for arm, times in (("before", before), ("after", after))
    ]
    alignment = align(arms[0], arms[1], (0, 0))
    experiment = resample(alignment)
    parts = budget(alignment, experiment)
    assert sum(p.delta.value for p in parts) == pytest.approx(
        experiment.after[0] - experiment.before[0], abs=1e-9
    )
    assert all(p.delta.low <= p.delta.value <= p.delta.high for p in parts)


def test_only_the_part_that_grew_is_said_to_have_grown() -> None:
    """8 ms more of data wait show in data wait, and the other parts' intervals hold no change."""
    alignment = align(control(), resumed(0.018, parts={"data_wait": 0.009}), (0, 0))
    by_name = {p.part: p.delta for p in budget(alignment, resample(alignment))}
    assert by_name["data_wait"].low > 0.007
    assert by_name["backward"].low <= 0.0 <= by_name["backward"].high


def test_parts_that_neither_run_has_are_left_out() -> None:
    """A budget lists what was measured, in the order of the step."""
    alignment = align(control(), resumed(), (0, 0))
    assert measured_parts(alignment) == ("data_wait", "forward", "backward", "optimizer", "rest")
