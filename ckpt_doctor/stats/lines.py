"""The user's lines that grew, from the stacks of both runs, and what looking at them costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ckpt_doctor.facts.comparison import Interval, LineDelta
from ckpt_doctor.facts.run import SourceLine
from ckpt_doctor.stats.alignment import INTERLEAVED, Arm, mean, step_turns
from ckpt_doctor.stats.intervals import Row, resample_turns

SHOWN = 10
"""So many lines are kept."""
MIN_SAMPLED_S = 1.0
"""Stacks that stand for less time than this say nothing about single lines."""
SURE_ERRORS = 3.0
"""So many standard errors a line must have grown by: of scores of lines none reads more by luck."""
MIN_PAIRS = 3
"""Pairs of turns with and without the stack sampler that are needed to know what it costs."""


class _Taken(NamedTuple):
    """What the user's lines take of a run's mean step, and how many samples of the run tell it."""

    lines_s: dict[SourceLine, float]
    step_s: float
    samples: int

    def of(self, lines: Collection[SourceLine]) -> float:
        """Seconds per step that some lines take together."""
        return math.fsum(self.lines_s.get(line, 0.0) for line in lines)

    def variance(self, lines: Collection[SourceLine]) -> float:
        """Of what some lines take together: the number of their samples is binomial.

        Half a sample is added to both outcomes (Jeffreys' prior), so that lines which were never met are not
        known to take nothing at all. Source: Brown, Cai and DasGupta, Statistical Science 16 (2001), 101-133.
        """
        hits = self.of(lines) / self.step_s * self.samples
        share = (hits + 0.5) / (self.samples + 1)
        return self.step_s**2 * share * (1.0 - share) / self.samples


def grown_lines(before: Arm, after: Arm) -> tuple[LineDelta, ...]:
    """Seconds per step of the user's lines that take more of them than before, largest growth first.

    A line's share of the samples, times the mean step time, is what it takes of a step: so both runs
    may have been sampled for different lengths of time. What so many samples cannot tell from luck is left
    out; lines of one function that were never met before are judged together.
    """
    sides = [_taken(arm) for arm in (before, after)]
    if sides[0] is None or sides[1] is None:
        return ()
    then, now = sides[0], sides[1]
    lines = [
        LineDelta(line, then.of([line]), now.of([line]))
        for together in _judged_together(then, now)
        if now.of(together) - then.of(together) >= SURE_ERRORS * _error_s(then, now, together)
        for line in together
    ]
    lines.sort(key=lambda delta: (-delta.delta_s, delta.line.file, delta.line.line, delta.line.function))
    return tuple(lines[:SHOWN])


def _judged_together(then: _Taken, now: _Taken) -> Iterable[list[SourceLine]]:
    """Each line that was met before, and the new lines of each function: a call goes through them all."""
    groups: dict[SourceLine | tuple[str, str], list[SourceLine]] = {}
    for line in now.lines_s:
        groups.setdefault(line if line in then.lines_s else (line.file, line.function), []).append(line)
    return groups.values()


def _error_s(then: _Taken, now: _Taken, lines: Collection[SourceLine]) -> float:
    """The standard error of what some lines grew by."""
    return math.sqrt(then.variance(lines) + now.variance(lines))


def sampler_cost(arms: tuple[Arm, Arm]) -> Interval | None:
    """Step time with the stack sampler over without it, within the runs; None where that was not tried.

    Each turn without it is set against the next one with it, of the same run.
    """
    pairs = [pair for arm in arms for pair in _turn_pairs(arm)]
    if len(pairs) < MIN_PAIRS:
        return None
    return resample_turns([plain for plain, _ in pairs], [sampled for _, sampled in pairs]).ratio()


def _taken(arm: Arm) -> _Taken | None:
    profile = next((p for p in arm.run.stacks if p.rank == arm.rank.rank), None)
    if profile is None or profile.sampled_s < MIN_SAMPLED_S:
        return None
    step_s = mean(arm.times_s())
    lines_s = {line: seconds / profile.sampled_s * step_s for line, seconds in profile.lines.items()}
    return _Taken(lines_s, step_s, profile.samples)


def _turn_pairs(arm: Arm) -> Iterator[tuple[list[Row], list[Row]]]:
    """The chosen steps of each turn without the sampler, and of the next one with it."""
    turns = [turn for turn in arm.run.turns if turn.phase == INTERLEAVED]
    chosen = set(arm.chosen)
    sides: dict[bool, list[list[Row]]] = {True: [], False: []}
    for turn, steps in zip(turns, step_turns(arm.run, arm.rank, INTERLEAVED), strict=True):
        rows: list[Row] = [(arm.rank.steps.step_s(i),) for i in steps if i in chosen]
        if rows:
            sides[turn.sampled].append(rows)
    yield from zip(sides[False], sides[True], strict=False)
