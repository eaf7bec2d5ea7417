"""Spans become exclusive parts of steps."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.readers.timeline import Span, covered_s, in_order, met, parts_of, runs_of, union_of

PARTS = ("data_wait", "compile", "forward", "backward", "optimizer", "rest")
MOMENTS = st.integers(0, 60).map(float)
SPANS = st.lists(
    st.tuples(MOMENTS, MOMENTS, st.sampled_from(("data_wait", "compile", "backward", "optimizer"))).map(
        lambda each: Span(min(each[:2]), max(each[:2]), each[2])
    ),
    max_size=12,
)


def told(steps: list[tuple[float, float]], *spans: Span) -> dict[str, list[float]]:
    """The parts that take any time."""
    return {part: column for part, column in parts_of(steps, spans, PARTS).items() if any(column)}


def test_a_usual_step() -> None:
    """Forward runs from the batch's arrival to backward; what follows is the rest, until the optimizer."""
    spans = (Span(1, 3, "data_wait"), Span(6, 10, "backward"), Span(12, 15, "optimizer"))
    assert told([(0, 16)], *spans) == {
        "data_wait": [2],
        "forward": [3],
        "backward": [4],
        "optimizer": [3],
        "rest": [4],
    }


def test_what_runs_inside_another_interrupts_it() -> None:
    """A compilation within backward is not backward."""
    assert told([(0, 10)], Span(2, 8, "backward"), Span(3, 5, "compile")) == {
        "backward": [4],
        "compile": [2],
        "rest": [4],
    }


def test_a_span_across_steps() -> None:
    """Each step gets what of a span lies in it, and what lies between steps is nobody's."""
    assert told([(0, 4), (5, 9)], Span(3, 6, "data_wait")) == {
        "data_wait": [1, 1],
        "rest": [3, 0],
        "forward": [0, 3],
    }


def test_without_a_loader() -> None:
    """Where no batch arrives, all that has no part of its own is the rest."""
    assert told([(0, 5)], Span(1, 2, "backward")) == {"backward": [1], "rest": [4]}


@given(spans=SPANS, edges=st.lists(MOMENTS, min_size=2, max_size=8, unique=True))
def test_parts_add_up(spans: list[Span], edges: list[float]) -> None:
    """In each step the parts add up to its length, and none is negative, however the spans lie."""
    ordered = sorted(edges)
    steps = list(zip(ordered[::2], ordered[1::2], strict=False))
    columns = parts_of(steps, spans, PARTS)
    for index, (start_s, end_s) in enumerate(steps):
        values = [column[index] for column in columns.values()]
        assert min(values) >= 0
        assert math.fsum(values) == pytest.approx(end_s - start_s)


def test_runs() -> None:
    """What nothing interrupts is one run; an operator of another kind begins a new one."""
    assert runs_of([(0, 1), (2, 3), (5, 6), (5.5, 9)], ([], [4.0])) == [(0, 3), (5, 9)]
    assert runs_of([(0, 4), (1, 2), (6, 7)], ([1.5, 3.0],)) == [(0, 7)]
    assert runs_of([], ([1.0],)) == []


@given(st.lists(st.lists(st.tuples(MOMENTS, MOMENTS).map(sorted), max_size=6), max_size=4))
def test_union(sources: list[list[list[float]]]) -> None:
    """The union covers each moment that any of them covers, once, whatever their order."""
    union = list(union_of(([a for a, _ in source], [b for _, b in source]) for source in sources))
    assert all(a <= b for a, b in union)
    assert all(one[1] < two[0] for one, two in pairwise(union))
    moments = [float(moment) for moment in range(60)]
    covered = covered_s((moments, [moment + 1 for moment in moments]), union)
    for moment, share in zip(moments, covered, strict=True):
        inside = any(a <= moment and moment + 1 <= b for source in sources for a, b in source)
        assert share == 1 if inside else 0 <= share <= 1


def test_covered() -> None:
    """Only what lies within counts, for each stretch on its own."""
    steps = ([1.0, 2.0, 9.5], [2.0, 8.5, 10.0])
    assert covered_s(steps, [(0.0, 2.0), (4.0, 6.0), (8.0, 9.0)]) == [1, 2.5, 0]
    assert covered_s(steps, []) == [0, 0, 0]
    assert covered_s(([], []), [(0.0, 1.0)]) == []


def test_met() -> None:
    """What only touches is not met."""
    stretches = ([0.0, 4.0, 8.0], [2.0, 6.0, 9.0])
    assert list(met(stretches, (1.0, 8.5))) == [0, 1, 2]
    assert list(met(stretches, (2.0, 4.0))) == []
    assert list(met(stretches, (4.5, 5.0))) == [1]


def test_in_order() -> None:
    """Starts that are out of order are put into it."""
    assert list(in_order(([3.0, 1.0], [4.0, 2.0]))) == [(1.0, 2.0), (3.0, 4.0)]
