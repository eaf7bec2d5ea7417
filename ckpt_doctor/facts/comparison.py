"""What two runs differ in: numbers with their doubt, before anyone judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckpt_doctor.facts.run import Event, RankRecord, RunRecord, SourceLine
from ckpt_doctor.facts.shape import Shape as Shape

SPREAD_PAIRS = 3
"""From so many pairs of processes on their spread is known; that of two says next to nothing."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float
    freedom: int | None = None
    """Degrees of freedom of the Student's distribution that gave the width; None for the normal one."""


@dataclass(frozen=True)
class PartDelta:
    """One part of the step time, in seconds per step on both sides."""

    part: str
    before_s: float
    after_s: float
    delta: Interval
    """``after_s - before_s`` with its interval, in seconds per step."""


@dataclass(frozen=True)
class CounterDelta:
    """A counter of both runs, per step; None where one could not be measured."""

    name: str
    unit: str
    before: float | None
    after: float | None

    @property
    def delta(self) -> float | None:
        """``after - before``, or None where either is unknown."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@dataclass(frozen=True)
class FingerprintChange:
    """One setting or size that differs between the runs."""

    key: str
    before: object
    """None where the before run has no such key."""
    after: object


@dataclass(frozen=True)
class Window:
    """The steps of one run that are compared."""

    run: RunRecord
    rank: RankRecord
    """The training process whose steps these are."""
    first: int
    """Index of the first step, inclusive."""
    last: int
    """Index of the last step, exclusive."""
    origin: int
    """Index of the first step since the save or the resume: relative step 0."""
    step_s: float
    """Mean step time in seconds."""
    samples_per_s: float | None
    """Samples per second, where the size of the batches is known."""

    @property
    def steps(self) -> int:
        """How many steps are compared, or entries of a log that stand for several steps each."""
        return self.last - self.first

    @property
    def training_steps(self) -> int:
        """How many steps of the training these are."""
        strides = self.rank.steps.strides
        return self.steps if strides is None else sum(strides[self.first : self.last])

    def events_within(self, signal: str) -> tuple[Event, ...]:
        """The events of one signal that ended within the window."""
        return tuple(e for e in self.rank.events_of(signal) if self.first <= e.step < self.last)

    def events_before(self, signal: str) -> tuple[Event, ...]:
        """The events of one signal between the process's start and the window."""
        return tuple(e for e in self.rank.events_of(signal) if e.step < self.first)

    def events_since_origin(self, signal: str) -> tuple[Event, ...]:
        """The events of one signal from relative step 0 to the window's end."""
        return tuple(e for e in self.rank.events_of(signal) if self.origin <= e.step < self.last)


@dataclass(frozen=True)
class StartCost:
    """What a run paid before its first step, in seconds; None where it could not be split."""

    first_step_s: float | None
    """From the start of the interpreter to the end of the first step."""
    imports_s: float | None
    load_s: float | None
    workers_s: float | None
    fast_forward_s: float | None
    """Drawing batches that no step used."""
    compile_s: float | None
    batches_drawn: int | None
    """Batches drawn before the first step ended."""


@dataclass(frozen=True)
class OrderCheck:
    """Whether the resumed run saw the data that the uninterrupted run saw."""

    restored: bool | None
    """None where the indices are not known on both sides."""
    compared_steps: int
    first_difference: int | None
    """First relative step with other data."""
    offset: int | None
    """Where the resumed run's first data are found in the control, in steps since its start:
    ``0`` means that the run began its data anew; None where they are not found."""
    source: str | None
    """``indices`` or ``batches``."""


@dataclass(frozen=True)
class Contention:
    """How much other work on the machine stood in the way, per second of wall time."""

    run_queue_ratio_before: float | None
    run_queue_ratio_after: float | None
    other_cpu_ratio_before: float | None
    """CPU seconds that processes outside the run used, per second and per core."""
    other_cpu_ratio_after: float | None
    steal_ratio: float | None
    stretch_ratio_before: float | None = None
    """How many times longer the model's own work took in the usual step than in the quickest tenth; only
    where others' use of the machine is unknown."""
    stretch_ratio_after: float | None = None


@dataclass(frozen=True)
class Interference:
    """The control's own step time before and after the resumed run came alive beside it."""

    alone_step_s: float
    beside_step_s: float
    ratio: Interval
    alone_physical_bytes_per_step: float | None
    beside_physical_bytes_per_step: float | None


@dataclass(frozen=True)
class LineDelta:
    """One line of the user's code, in seconds per step on both sides."""

    line: SourceLine
    before_s: float
    after_s: float

    @property
    def delta_s(self) -> float:
        """``after_s - before_s``."""
        return self.after_s - self.before_s


@dataclass(frozen=True)
class RankDelta:
    """The mean step and data wait of one rank on both sides, in seconds."""

    rank: int
    before_step_s: float | None
    after_step_s: float | None
    before_busy_s: float | None
    """Step time less the time spent waiting in collectives, where that is known."""
    after_busy_s: float | None


@dataclass(frozen=True)
class PairRatio:
    """What one pair of processes reads: a fresh run, and one that was resumed beside it."""

    before: str
    """Where the recording of the fresh run lies."""
    after: str
    ratio: Interval
    """Mean step time after over before, with the interval of these two processes alone."""


@dataclass(frozen=True)
class Comparison:
    """Two runs laid side by side."""

    before: Window
    after: Window
    ratio: Interval
    """Mean step time after over before."""
    detectable_ratio: float
    """The smallest slowdown that these steps could have shown."""
    effect_floor_ratio: float
    """Slowdowns below this are not called one, whatever the interval says."""
    budget: tuple[PartDelta, ...]
    counters: Mapping[str, CounterDelta]
    changes: tuple[FingerprintChange, ...]
    shape: Shape
    before_start: StartCost
    after_start: StartCost
    order: OrderCheck
    contention: Contention
    interference: Interference | None
    lines: tuple[LineDelta, ...]
    """The user's lines, largest growth first."""
    ranks: tuple[RankDelta, ...]
    slow_rank: int | None
    """The rank that makes the others wait; None where there is one rank, or none stands out."""
    paired: bool
    """Whether the arms took turns on one machine, so that their times can be set side by side."""
    agent_per_step_s: float | None
    sampler_ratio: float | None
    """Step time with the stack sampler over without it; None where that was not measured."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """Signals that are missing on either side, and why."""
    settling_s: float | None = None
    """Seconds that the resumed run's steps between the first and the window cost beyond the control's
    mean step; None where there are none."""
    arguments: tuple[FingerprintChange, ...] = ()
    """Options of the two commands that differ, beyond what a resume needs."""
    sampler_low_ratio: float | None = None
    """The lower end of the interval of ``sampler_ratio``."""
    rewritten_files: tuple[str, ...] = ()
    """Files that the resumed run made again, and the control did not (a cache that was full)."""
    pairs: tuple[PairRatio, ...] = ()
    """The pairs of processes that times and budget are the mean of, first the one whose windows these are;
    empty where there is only that one."""

    @property
    def knows_spread(self) -> bool:
        """Whether the interval holds what processes of identical code differ by, as seen in pairs of them."""
        return len(self.pairs) >= SPREAD_PAIRS

    @property
    def delta_s(self) -> float:
        """Seconds per step that the resumed run is slower."""
        return self.after.step_s - self.before.step_s

    def part(self, name: str) -> PartDelta:
        """One part of the budget.

        Raises:
            KeyError: There is no such part.
        """
        for part in self.budget:
            if part.part == name:
                return part
        raise KeyError(name)

    def counter(self, name: str) -> CounterDelta | None:
        """A counter by name; None where neither side has it."""
        return self.counters.get(name)
