"""Spans on one thread's time line become the exclusive parts of each step, as the agent's clock takes them.

At every moment the part runs whose span began last; outside all spans it is forward from a batch's arrival
to the end of backward, and else the rest of the step.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of time that belongs to one part of a step, in seconds."""

    start_s: float
    end_s: float
    part: str


Stretch = tuple[float, float]
"""Start and end in seconds."""
Stretches = tuple[Sequence[float], Sequence[float]]
"""Starts, and ends, of many stretches."""

_ENDS, _BEGINS, _STEP_ENDS, _STEP_BEGINS = range(4)


def parts_of(steps: Sequence[Stretch], spans: Sequence[Span], parts: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of each step by part; in each step they add up to its length.

    Args:
        steps: The steps, in order, none overlapping another.
        spans: The spans of the thread that trains; nested ones interrupt each other.
        parts: The names of the parts that are told, with ``forward`` and ``rest``.
    """
    totals = {part: [0.0] * len(steps) for part in parts}
    running: list[str] = []
    base, step, mark_s = "rest", -1, 0.0
    for t_s, what, index in sorted(_points(steps, spans)):
        if step >= 0:
            totals[running[-1] if running else base][step] += t_s - mark_s
        mark_s = t_s
        if what == _STEP_BEGINS:
            step = index
        elif what == _STEP_ENDS:
            step = -1
        elif what == _BEGINS:
            running.append(spans[index].part)
        else:
            part = spans[index].part
            del running[len(running) - 1 - running[::-1].index(part)]
            base = "forward" if part == "data_wait" else "rest" if part in ("backward", "optimizer") else base
    return totals


def _points(steps: Sequence[Stretch], spans: Sequence[Span]) -> Iterator[tuple[float, int, int]]:
    """Where something begins or ends: moment, what, and the index of the span or step."""
    for index, span in enumerate(spans):
        # What takes no time would end before it begins.
        if span.end_s > span.start_s:
            yield span.start_s, _BEGINS, index
            yield span.end_s, _ENDS, index
    for index, (start_s, end_s) in enumerate(steps):
        yield start_s, _STEP_BEGINS, index
        yield end_s, _STEP_ENDS, index


def runs_of(stretches: Iterable[Stretch], interruptions: Sequence[Sequence[float]]) -> list[Stretch]:
    """Join what follows one another uninterrupted: the functions of one backward pass become one stretch.

    Args:
        stretches: Stretches of time, in the order of their starts; they may overlap.
        interruptions: Moments, as sorted sequences; one between two stretches keeps them apart.
    """
    runs: list[Stretch] = []
    for start_s, end_s in stretches:
        if runs:
            last_start_s, last_end_s = runs[-1]
            if start_s <= last_end_s or not any(
                _any_between(moments, last_end_s, start_s) for moments in interruptions
            ):
                runs[-1] = (last_start_s, max(last_end_s, end_s))
                continue
        runs.append((start_s, end_s))
    return runs


def union_of(sources: Iterable[Stretches]) -> Iterator[Stretch]:
    """The stretches in which at least one of many ran, in order and apart from each other."""
    return joined(merge(*(in_order(source) for source in sources)))


def joined(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Stretches in the order of their starts, each joined with what begins before it ends."""
    last: Stretch | None = None
    for start_s, end_s in stretches:
        if last is None:
            last = start_s, end_s
        elif start_s <= last[1]:
            last = last[0], max(last[1], end_s)
        else:
            yield last
            last = start_s, end_s
    if last is not None:
        yield last


def met(stretches: Stretches, by: Stretch) -> range:
    """Which of some stretches, in order and apart, another one meets."""
    starts_s, ends_s = stretches
    return range(bisect_right(ends_s, by[0]), bisect_left(starts_s, by[1]))


def covered_s(stretches: Stretches, by: Iterable[Stretch]) -> list[float]:
    """Seconds of each of some stretches that others cover; those are many, so they are not kept.

    Args:
        stretches: In order and apart from each other.
        by: What covers them, apart from each other.
    """
    starts_s, ends_s = stretches
    totals_s = [0.0] * len(starts_s)
    for other in by:
        for i in met(stretches, other):
            totals_s[i] += min(ends_s[i], other[1]) - max(starts_s[i], other[0])
    return totals_s


def _any_between(moments: Sequence[float], start_s: float, end_s: float) -> bool:
    index = bisect_left(moments, start_s)
    return index < len(moments) and moments[index] < end_s


def ordered(moments: Sequence[float]) -> Sequence[float]:
    """Moments from the first to the last; those of one thread nearly always are in order already."""
    return moments if all(a <= b for a, b in pairwise(moments)) else array("d", sorted(moments))


def in_order(stretches: Stretches) -> Iterator[Stretch]:
    """Stretches by their starts, as ``ordered``."""
    starts_s, ends_s = stretches
    if all(a <= b for a, b in pairwise(starts_s)):
        return zip(starts_s, ends_s, strict=True)
    order = sorted(range(len(starts_s)), key=starts_s.__getitem__)
    return ((starts_s[i], ends_s[i]) for i in order)
