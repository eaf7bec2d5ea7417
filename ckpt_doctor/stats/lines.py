"""The user's lines that grew, from the stacks of both runs, and what looking at them costs."""

from __future__ import annotations

from ckpt_doctor.facts.comparison import LineDelta
from ckpt_doctor.facts.run import SourceLine
from ckpt_doctor.stats.alignment import INTERLEAVED, Arm, mean, step_turns

SHOWN = 10
"""So many lines are kept."""
MIN_SAMPLED_S = 1.0
"""Stacks that stand for less time than this say nothing about single lines."""
MIN_STEPS = 20
"""Steps that are needed with and without the stack sampler to know what it costs."""


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


def sampler_ratio(arms: tuple[Arm, Arm]) -> float | None:
    """Step time with the stack sampler over without it, within the runs; None where that was not tried."""
    ratios = [ratio for arm in arms if (ratio := _sampler_ratio(arm)) is not None]
    return mean(ratios) if ratios else None


def _per_step(arm: Arm) -> dict[SourceLine, float]:
    profile = next((p for p in arm.run.stacks if p.rank == arm.rank.rank), None)
    if profile is None or profile.sampled_s < MIN_SAMPLED_S:
        return {}
    step_s = mean(arm.times_s())
    return {line: seconds / profile.sampled_s * step_s for line, seconds in profile.lines.items()}


def _sampler_ratio(arm: Arm) -> float | None:
    turns = [turn for turn in arm.run.turns if turn.phase == INTERLEAVED]
    chosen = set(arm.chosen)
    sides: dict[bool, list[float]] = {True: [], False: []}
    for turn, steps in zip(turns, step_turns(arm.run, arm.rank, INTERLEAVED), strict=True):
        sides[turn.sampled].extend(arm.rank.steps.step_s(i) for i in steps if i in chosen)
    if min(map(len, sides.values())) < MIN_STEPS:
        return None
    return mean(sides[True]) / mean(sides[False])
