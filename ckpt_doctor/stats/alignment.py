"""Which steps of two runs are compared with each other.

Steps are counted from the save (before) and from the start of the resumed process (after), so that
relative step ``k`` is the same step of the training in both. The lasting cost is taken from the same
relative steps of both runs, after a warm-up:

- the first ``WARM_UP_STEPS`` relative steps, or a quarter of what there is when that is less, are left
  out: they pay for the start itself;
- steps in which something was compiled are left out of both, unless the resumed run compiles again and
  again (``RECURRING_COMPILES`` more than the control's process in its whole life): a process compiles
  when it first meets a shape, the control has that behind it, and this is no cost of every step;
- of interleaved turns, the first step is left out, which finds the CPU's caches cold after the pause (it
  took up to 2.1 times as long as the others, and not equally long in both runs), and so are all that were
  fed by what loader workers had prefetched before the pause: at most a third of the turn.

Where the control's script ended soon after its save, its steps before the save stand in for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ckpt_doctor.errors import RecordingError
from ckpt_doctor.facts.run import RankRecord, RunRecord, Turn
from ckpt_doctor.stats.fingerprints import prefetched_batches

WARM_UP_STEPS = 10
MIN_CONTROL_STEPS = 10
"""With fewer steps after its save, the control is taken from the steps before it."""
RECURRING_COMPILES = 3
MIN_COMMON_STEPS = 20
"""Interleaved arms are compared on the same relative steps where so many are common to both ..."""
MIN_COMMON_SHARE = 0.5
"""... and these are at least half of what the resumed run has; else on all steps of their turns."""
COLD_STEPS = 1
"""First steps of an interleaved turn that are slower for the pause before it."""
INTERLEAVED = "interleaved"
ALONE = "alone"


@dataclass(frozen=True)
class Arm:
    """The steps of one process that are compared."""

    run: RunRecord
    rank: RankRecord
    origin: int
    """Index of relative step 0."""
    first: int
    last: int
    """First index, and the index after the last one."""
    chosen: tuple[int, ...]
    """Indices within ``first`` and ``last`` that count."""
    by_turn: tuple[tuple[int, ...], ...]
    """The chosen steps of each interleaved turn; empty where there were no such turns."""

    def times_s(self) -> tuple[float, ...]:
        """Times of the chosen steps in seconds."""
        return tuple(self.rank.steps.step_s(i) for i in self.chosen)

    def stretches(self) -> tuple[tuple[float, float, int], ...]:
        """Where the process was at work on the chosen steps: start and end (s), and how many steps."""
        steps = self.rank.steps
        groups = [turn for turn in self.by_turn if turn] or [self.chosen]
        return tuple((steps.t_start_s[g[0]], steps.t_end_s[g[-1]], g[-1] - g[0] + 1) for g in groups)


@dataclass(frozen=True)
class Alignment:
    """Two arms laid side by side."""

    before: Arm
    after: Arm
    paired: bool
    """Whether the arms took turns."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What a reader should know about the choice, by topic."""


@dataclass(frozen=True)
class _Source:
    """One side before the windows are known."""

    run: RunRecord
    rank: RankRecord
    origin: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.origin


def align(
    before: RunRecord,
    after: RunRecord,
    ranks: tuple[int, int],
    *,
    alone: bool = False,
    phase: str = INTERLEAVED,
) -> Alignment:
    """Choose the steps of both runs that are compared.

    Args:
        before: The control.
        after: The resumed run.
        ranks: Index in ``RunRecord.ranks`` of the process to take, for both runs.
        alone: Take the control from the turns before the resumed run came alive beside it.
        phase: Which turns are compared, where both runs took such turns: probes that confirm a cause take
            more of them later.

    Raises:
        RecordingError: One of the runs has too few steps to compare.
    """
    notes: dict[str, str] = {}
    one = _control(before, before.ranks[ranks[0]], notes)
    two = _source(after, after.ranks[ranks[1]])
    _need_steps(one)
    _need_steps(two)
    paired = not alone and bool(_turns(before, phase)) and bool(_turns(after, phase))
    phases = (ALONE if alone else phase if paired else None, phase if paired else None)
    lists = [_in_phase(source, phase) for source, phase in zip((one, two), phases, strict=True)]
    if not all(len(steps) >= 2 for steps in lists):
        paired, lists = False, [_in_phase(one, None), _in_phase(two, None)]
    lists = _common(one, two, lists, notes)
    lists = _without_compiles(one, two, lists)
    arms = [
        _arm(source, steps, phase if paired else None)
        for source, steps in zip((one, two), lists, strict=True)
    ]
    return Alignment(arms[0], arms[1], paired, notes)


def warm_up_steps(length: int) -> int:
    """Relative steps that are left out at the start of a window of this many steps."""
    return max(1, min(WARM_UP_STEPS, length // 4))


def step_turns(run: RunRecord, rank: RankRecord, phase: str) -> tuple[tuple[int, ...], ...]:
    """The steps of each turn of one phase: those whose middle lies within the turn."""
    steps = rank.steps
    middles = [(a + b) / 2.0 for a, b in zip(steps.t_start_s, steps.t_end_s, strict=True)]
    return tuple(
        tuple(i for i, t_s in enumerate(middles) if turn.t_start_s <= t_s <= turn.t_end_s)
        for turn in _turns(run, phase)
    )


def after_pause(turn: Sequence[int], rank: RankRecord) -> tuple[int, ...]:
    """The steps of an interleaved turn that the pause before it has not made slower or faster."""
    ahead = max(COLD_STEPS, prefetched_batches(rank))
    return tuple(turn[min(ahead, len(turn) // 3) :])


def _control(run: RunRecord, rank: RankRecord, notes: dict[str, str]) -> _Source:
    source = _source(run, rank)
    if source.length >= MIN_CONTROL_STEPS or source.origin < MIN_CONTROL_STEPS:
        return source
    notes["control"] = (
        f"the script ended {source.length} steps after its save: "
        "its steps before the save stand in for the control"
    )
    return _Source(run, rank, 0, source.origin)


def _source(run: RunRecord, rank: RankRecord) -> _Source:
    count = len(rank.steps)
    return _Source(run, rank, min(run.meta.origin_step or 0, count), count)


def _need_steps(source: _Source) -> None:
    if source.length < 3:
        raise RecordingError(
            f"{source.run.meta.path}: rank {source.rank.rank} has {source.length} steps to compare, "
            "at least 3 are needed",
            hint="let the script run for more steps",
        )


def _turns(run: RunRecord, phase: str) -> list[Turn]:
    return [turn for turn in run.turns if turn.phase == phase]


def _in_phase(source: _Source, phase: str | None) -> list[int]:
    """Indices of the steps of one phase after the warm-up."""
    first = WARM_UP_STEPS if phase == ALONE else source.origin + warm_up_steps(source.length)
    if phase is None:
        return list(range(first, source.end))
    turns = step_turns(source.run, source.rank, phase)
    if phase != ALONE:
        turns = tuple(after_pause(turn, source.rank) for turn in turns)
    return [i for turn in turns for i in turn if first <= i < source.end]


def _common(one: _Source, two: _Source, lists: list[list[int]], notes: dict[str, str]) -> list[list[int]]:
    """Cut both lists to the same relative steps, where that leaves enough."""
    relative = [[i - source.origin for i in steps] for source, steps in zip((one, two), lists, strict=True)]
    low = max(relative[0][0], relative[1][0])
    high = min(relative[0][-1], relative[1][-1])
    cut = [[r for r in steps if low <= r <= high] for steps in relative]
    least = max(min(MIN_COMMON_STEPS, len(relative[1])), MIN_COMMON_SHARE * len(relative[1]))
    if len(cut[0]) >= 2 and len(cut[1]) >= least:
        return [[r + one.origin for r in cut[0]], [r + two.origin for r in cut[1]]]
    notes["steps"] = "the two runs are compared on different steps: too few are common to both"
    return lists


def _without_compiles(one: _Source, two: _Source, lists: list[list[int]]) -> list[list[int]]:
    """Drop the steps that compiled something, unless the resumed run does it again and again."""
    counts = [
        sum(1 for e in s.rank.events_of("compile") if e.step <= steps[-1])
        for s, steps in zip((one, two), lists, strict=True)
    ]
    if counts[1] - counts[0] >= RECURRING_COMPILES:
        return lists
    kept = []
    for source, steps in zip((one, two), lists, strict=True):
        compiled = {e.step for e in source.rank.events_of("compile")}
        kept.append([i for i in steps if i not in compiled])
    enough = all(2 * len(k) >= len(steps) and len(k) >= 2 for k, steps in zip(kept, lists, strict=True))
    return kept if enough else lists


def _arm(source: _Source, steps: Sequence[int], phase: str | None) -> Arm:
    chosen = set(steps)
    by_turn: tuple[tuple[int, ...], ...] = ()
    if phase is not None:
        turns = step_turns(source.run, source.rank, phase)
        by_turn = tuple(tuple(i for i in turn if i in chosen) for turn in turns)
    return Arm(source.run, source.rank, source.origin, steps[0], steps[-1] + 1, tuple(steps), by_turn)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, summed without loss."""
    return math.fsum(values) / len(values)
