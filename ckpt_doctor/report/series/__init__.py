"""Series of numbers that pictures, plots and exports share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckpt_doctor.facts.active_time import ActiveTime

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Window
    from ckpt_doctor.facts.run import ProcessSample, RunRecord

Points = Sequence[tuple[float, float]]
"""Pairs of place and value, in the order of their places."""

_SHORTEST_S = 0.05
"""Over less time a rate is noise: samples at the end of a turn and at the beginning of the next lie close
together on a clock that stands still between them, and what little a stopped run used would look large."""


class ProcessTree(NamedTuple):
    """What the whole process tree of a run used, over time in seconds."""

    cpu_cores: Points
    """CPU seconds per second."""
    rss_bytes: Points
    read_bytes_per_s: Points
    """Bytes that came from the disk, per second; empty where this machine does not tell."""


def step_times(window: Window) -> Points:
    """Relative step and step time in seconds of every step of a process, the first one left out.

    The first step holds the start of the process, which is told apart.
    """
    steps = window.rank.steps
    return [(i - window.origin, steps.step_s(i)) for i in range(1, len(steps))]


def compared_times_s(window: Window) -> Sequence[float]:
    """Step times in seconds within the window."""
    steps = window.rank.steps
    return [steps.step_s(i) for i in range(window.first, min(window.last, len(steps)))]


def turn_starts(window: Window) -> Sequence[int]:
    """Relative steps at which the turns of a run began that it took beside the other one."""
    steps = window.rank.steps
    starts: list[int] = []
    for turn in window.run.turns:
        if turn.phase == "interleaved":
            first = next((i for i, end_s in enumerate(steps.t_end_s) if end_s > turn.t_start_s), None)
            starts += [] if first is None else [first - window.origin]
    return starts


def running_time(window: Window) -> Callable[[float], float]:
    """Makes of a time on the machine's clock the seconds that the run had been running by then."""
    clock = ActiveTime(window.run.turns)
    start_s = clock.at(window.rank.started_s)
    return lambda t_s: clock.at(t_s) - start_s


def process_tree(run: RunRecord, clock: Callable[[float], float], most: int) -> ProcessTree:
    """What the run's processes used, each value the mean since the one before.

    Args:
        run: The run.
        clock: Makes the place of a point of a time on the machine's clock.
        most: So many points are made, or fewer than twice as many.
    """
    every = max(1, len(run.samples) // most)
    samples = [(clock(sample.t_s), sample) for sample in run.samples[::every]]
    return ProcessTree(
        _rates(samples, lambda sample: sample.cpu_s),
        [(at_s, float(sample.rss_bytes)) for at_s, sample in samples],
        _rates(samples, lambda sample: sample.physical_read_bytes),
    )


def _rates(
    samples: Sequence[tuple[float, ProcessSample]], read: Callable[[ProcessSample], float | None]
) -> Points:
    """Growth per second of a cumulative value; a value that falls belongs to a process that ended."""
    known = [(at_s, value) for at_s, sample in samples if (value := read(sample)) is not None]
    points: list[tuple[float, float]] = []
    before_s, before = known[0] if known else (0.0, 0.0)
    for after_s, after in known[1:]:
        if after_s - before_s >= _SHORTEST_S:
            points.append((after_s, max(0.0, after - before) / (after_s - before_s)))
            before_s, before = after_s, after
    return points


def thinned(points: Points, most: int) -> Points:
    """At most so many points that look the same: the lowest and the highest of each stretch, in order."""
    if len(points) <= most:
        return points
    stretches = max(1, most // 2)
    kept: list[tuple[float, float]] = []
    for number in range(stretches):
        part = points[number * len(points) // stretches : (number + 1) * len(points) // stretches]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept


def usual_top(values: Sequence[float], share: float = 0.99) -> float:
    """A value that this share of the values does not exceed; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
