"""Several ranks: their steps on both sides, and the one that makes the others wait.

Data-parallel ranks all have the same step time, since each step ends in collectives: the slow rank is
the one that waits least. Collectives run inside backward, so a rank's backward beyond the shortest one
counts as waiting.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from ckpt_doctor.facts.comparison import RankDelta
from ckpt_doctor.facts.run import RankRecord, RunRecord
from ckpt_doctor.stats.alignment import mean, warm_up_steps

OUTSTANDING_RATIO = 0.1
"""The slow rank is busy for this much of a step longer than the others (their median)."""


def rank_deltas(before: RunRecord, after: RunRecord) -> tuple[RankDelta, ...]:
    """Mean step and busy time of each rank on both sides, after each run's warm-up."""
    sides = [_by_rank(before), _by_rank(after)]
    busy = [busy_s(before), busy_s(after)]
    return tuple(
        RankDelta(rank, sides[0].get(rank), sides[1].get(rank), busy[0].get(rank), busy[1].get(rank))
        for rank in sorted(sides[0].keys() | sides[1].keys())
    )


def slow_rank(run: RunRecord) -> int | None:
    """The rank that makes the others wait; None where none stands out."""
    busy = busy_s(run)
    if len(busy) < 2:
        return None
    slowest = max(busy, key=lambda rank: busy[rank])
    others = median(value for rank, value in busy.items() if rank != slowest)
    step_s = max(_by_rank(run).values())
    return slowest if busy[slowest] - others >= OUTSTANDING_RATIO * step_s else None


def busy_s(run: RunRecord) -> Mapping[int, float]:
    """Step time of each rank less what it waited for others; empty with fewer than two ranks."""
    ranks = [rank for rank in run.ranks if len(rank.steps) > 1 and "backward" in rank.steps.parts]
    if len(ranks) < 2:
        return {}
    backward = {r.rank: mean([r.steps.parts["backward"][i] for i in _settled(run, r)]) for r in ranks}
    quickest = min(backward.values())
    steps = _by_rank(run)
    return {r.rank: steps[r.rank] - (backward[r.rank] - quickest) for r in ranks}


def _by_rank(run: RunRecord) -> dict[int, float]:
    return {
        r.rank: mean([r.steps.step_s(i) for i in _settled(run, r)]) for r in run.ranks if len(r.steps) > 1
    }


def _settled(run: RunRecord, rank: RankRecord) -> range:
    """The steps after the warm-up since the origin, or all that there are."""
    count = len(rank.steps)
    origin = min(run.meta.origin_step or 0, count - 1)
    first = origin + warm_up_steps(count - origin)
    return range(first, count) if first < count else range(origin, count)
