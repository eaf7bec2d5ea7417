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


def union_of(sources: Iterable[Stretches]) -> Stretches:
    """The stretches in which at least one of many ran, in order and apart from each other."""
    return joined(merge(*(in_order(source) for source in sources)))


def joined(stretches: Iterable[Stretch]) -> Stretches:
    """Stretches in the order of their starts, each joined with what begins before it ends."""
    starts, ends = array("d"), array("d")
    for start_s, end_s in stretches:
        if ends and start_s <= ends[-1]:
            ends[-1] = max(ends[-1], end_s)
        else:
            starts.append(start_s)
            ends.append(end_s)
    return starts, ends


def overlap_s(stretches: Stretches, within: Stretch) -> float:
    """Seconds of a stretch that are covered by others, which are in order and apart."""
    starts_s, ends_s = stretches
    first, last = bisect_right(ends_s, within[0]), bisect_left(starts_s, within[1])
    return sum(min(ends_s[i], within[1]) - max(starts_s[i], within[0]) for i in range(first, last))


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
