"""The user's lines that grew, from the stacks of both runs, and what looking at them costs."""

from __future__ import annotations

from collections.abc import Iterator

from ckpt_doctor.facts.comparison import Interval, LineDelta
from ckpt_doctor.facts.run import SourceLine
from ckpt_doctor.stats.alignment import INTERLEAVED, Arm, mean, step_turns
from ckpt_doctor.stats.intervals import Row, resample_turns

SHOWN = 10
"""So many lines are kept."""
MIN_SAMPLED_S = 1.0
"""Stacks that stand for less time than this say nothing about single lines."""
MIN_PAIRS = 3
"""Pairs of turns with and without the stack sampler that are needed to know what it costs."""


def grown_lines(before: Arm, after: Arm) -> tuple[LineDelta, ...]:
    """Seconds per step of each of the user's lines on both sides, largest growth first.

    A line's share of the samples, times the mean step time, is what it takes of a step: so both runs
    may have been sampled for different lengths of time.
    """
    sides = [_per_step(arm) for arm in (before, after)]
    if not sides[0] or not sides[1]:
        return ()
    lines = [
        LineDelta(line, sides[0].get(line, 0.0), sides[1].get(line, 0.0))
        for line in sides[0].keys() | sides[1].keys()
    ]
    lines.sort(key=lambda delta: (-delta.delta_s, delta.line.file, delta.line.line, delta.line.function))
    return tuple(lines[:SHOWN])


def sampler_cost(arms: tuple[Arm, Arm]) -> Interval | None:
    """Step time with the stack sampler over without it, within the runs; None where that was not tried.

    Each turn without it is set against the next one with it, of the same run.
    """
    pairs = [pair for arm in arms for pair in _turn_pairs(arm)]
    if len(pairs) < MIN_PAIRS:
        return None
    return resample_turns([plain for plain, _ in pairs], [sampled for _, sampled in pairs]).ratio()


def _per_step(arm: Arm) -> dict[SourceLine, float]:
    profile = next((p for p in arm.run.stacks if p.rank == arm.rank.rank), None)
    if profile is None or profile.sampled_s < MIN_SAMPLED_S:
        return {}
    step_s = mean(arm.times_s())
    return {line: seconds / profile.sampled_s * step_s for line, seconds in profile.lines.items()}


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
