"""What a process paid until its first step was done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ckpt_doctor.facts.active_time import ActiveTime
from ckpt_doctor.facts.comparison import StartCost
from ckpt_doctor.facts.run import RankRecord, RunRecord
from ckpt_doctor.stats.alignment import Arm


def start_cost(run: RunRecord, rank: RankRecord) -> StartCost:
    """Split the time from the start of the interpreter to the end of the first step.

    Time during which a probe held the process is left out. The parts do not add up to the whole:
    building the model and whatever else the script does has no part of its own. Nothing is known where the
    evidence begins later than the process.
    """
    steps = rank.steps
    if not rank.sees_start:
        return StartCost(None, None, None, None, None, None, None)
    clock = ActiveTime(run.turns)
    return StartCost(
        first_step_s=clock.at(steps.t_end_s[0]) - clock.at(rank.started_s) if len(steps) else None,
        imports_s=_seconds(rank, "imports"),
        load_s=_seconds(rank, "load"),
        workers_s=_seconds(rank, "worker_start"),
        fast_forward_s=_fast_forward_s(rank),
        compile_s=_seconds(rank, "compile"),
        batches_drawn=_batches_drawn(rank),
    )


def settling_s(before: Arm, after: Arm) -> float | None:
    """Seconds that the steps between the first and the window cost beyond the control's mean step.

    The first step of a process also holds its start, which ``start_cost`` tells.
    """
    settling = [after.rank.steps.step_s(i) for i in range(after.origin, after.first) if i > 0]
    if not settling or not after.rank.sees_start:
        return None
    usual = before.times_s()
    return math.fsum(settling) - len(settling) * math.fsum(usual) / len(usual)


def usual_batches(rank: RankRecord) -> float | None:
    """Batches per step once the run is under way (median); None where no loader was seen."""
    later = _column(rank, "batches")[1:]
    return median(later) if later else None


def _batches_drawn(rank: RankRecord) -> int | None:
    column = _column(rank, "batches")
    return int(column[0]) if column else None


def _fast_forward_s(rank: RankRecord) -> float | None:
    """The part of the first step's data wait that went into batches which no step used."""
    drawn, usual, waits = _batches_drawn(rank), usual_batches(rank), rank.steps.parts.get("data_wait")
    if drawn is None or usual is None or not waits:
        return None
    dropped = max(0.0, drawn - max(1.0, usual))
    return waits[0] * dropped / drawn if drawn else 0.0


def _column(rank: RankRecord, name: str) -> Sequence[float]:
    return [value or 0.0 for value in rank.steps.counters.get(name, ())]


def _seconds(rank: RankRecord, signal: str) -> float | None:
    """Seconds of one signal's events until the end of the first step; None where it was not measured."""
    if signal in rank.not_measured:
        return None
    return math.fsum(e.duration_s for e in rank.events_of(signal) if e.step == 0 and e.duration_s is not None)
