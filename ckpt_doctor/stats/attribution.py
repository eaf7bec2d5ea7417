"""The difference of the step time, split into the exclusive parts of a step."""

from __future__ import annotations

from ckpt_doctor.facts.comparison import PartDelta
from ckpt_doctor.facts.run import PARTS
from ckpt_doctor.stats.alignment import Alignment, Arm
from ckpt_doctor.stats.intervals import Experiment, Row, enough_turns, resample_blocks, resample_turns


def measured_parts(alignment: Alignment) -> tuple[str, ...]:
    """The parts that at least one of the runs knows, in the order in which they are shown."""
    known = alignment.before.rank.steps.parts.keys() | alignment.after.rank.steps.parts.keys()
    return tuple(part for part in PARTS if part in known)


def resample(alignment: Alignment) -> Experiment:
    """Resample the step time (column 0) and its measured parts (the columns after it)."""
    parts = measured_parts(alignment)
    before, after = alignment.before, alignment.after
    if alignment.paired:
        turns = [[[_row(arm, i, parts) for i in turn] for turn in arm.by_turn] for arm in (before, after)]
        count = max(len(t) for t in turns)
        padded = [list(t) + [[] for _ in range(count - len(t))] for t in turns]
        if enough_turns(*padded):
            return resample_turns(*padded)
    return resample_blocks(
        [_row(before, i, parts) for i in before.chosen], [_row(after, i, parts) for i in after.chosen]
    )


def budget(alignment: Alignment, experiment: Experiment) -> tuple[PartDelta, ...]:
    """Seconds per step by part on both sides, and their differences.

    Each part is computed from its own measurements. They add up to the difference of the step time
    because the recorded parts of every step are exclusive and add up to its time.
    """
    return tuple(
        PartDelta(part, experiment.before[column], experiment.after[column], experiment.delta(column))
        for column, part in enumerate(measured_parts(alignment), start=1)
    )


def _row(arm: Arm, index: int, parts: tuple[str, ...]) -> Row:
    steps = arm.rank.steps
    # A part that this process never had (no loader, no backward) took no time of its own.
    values = (steps.parts[part][index] if part in steps.parts else 0.0 for part in parts)
    return (steps.step_s(index), *values)
