"""What a recorded run did: the content of a recording folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

PARTS: tuple[str, ...] = (
    "data_wait",
    "compile",
    "forward",
    "backward",
    "optimizer",
    "gc",
    "saving",
    "rest",
)
"""The exclusive parts of a step, in the order in which they are shown.

``forward`` is the time from a batch's arrival to the start of backward; where no loader feeds
the step it lies in ``rest``. The time that the agent spent on itself is in none of them.
"""

MEASURED = "memory."
"""How the names of a fingerprint's values begin that are measured rather than set."""


@dataclass(frozen=True)
class Event:
    """Something that happened once: a save, a load, a compilation, a worker start, ..."""

    signal: str
    """Name of the signal that saw it, as ``compile``."""
    t_s: float
    """When it ended, on the machine's monotonic clock."""
    step: int
    """The step of its process during which it ended, counted from 0."""
    duration_s: float | None
    """How long it took; None for something without a length."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """What the signal says about it; each signal documents its own."""


@dataclass(frozen=True)
class Fingerprint:
    """Settings and sizes of a training process at one step, as a flat mapping."""

    step: int
    values: Mapping[str, object]
    """Dotted names to JSON scalars, as ``optimizer.0.group.0.foreach``.

    Names that begin with ``memory.`` (MEASURED) are sizes that differ between any two processes.
    """


@dataclass(frozen=True)
class StepSeries:
    """The steps of one process, as columns of equal length.

    A step ends when an optimizer that has already stepped in it steps again. Its time is the
    whole interval since the previous step's end; time during which the process was held or
    stopped by a probe is in no step.
    """

    t_start_s: tuple[float, ...]
    t_end_s: tuple[float, ...]
    parts: Mapping[str, tuple[float, ...]]
    """Seconds by part (PARTS); they add up to ``step_s``. Empty where only whole steps are known."""
    observer_s: tuple[float, ...]
    """Seconds that the agent spent on itself within the step, where it was noticeable."""
    counters: Mapping[str, tuple[float | None, ...]]
    """Counts by name: batches, elements, optimizer_steps, backwards, minor_faults,
    major_faults, user_s, system_s, ... (see ``signals``)."""
    digests: tuple[str | None, ...]
    """Hash of the sample indices (or, failing that, of the batch) that fed the step."""
    digest_source: str | None
    """``indices``, ``batches`` or None where there is nothing to hash."""
    strides: tuple[int, ...] | None = None
    """Steps of the training that each row stands for, where a log tells one time for several; None: one."""

    def __len__(self) -> int:
        return len(self.t_end_s)

    def step_s(self, index: int) -> float:
        """Time of one step in seconds, without what the agent spent on itself."""
        whole_s = self.t_end_s[index] - self.t_start_s[index] - self.observer_s[index]
        return whole_s if self.strides is None else whole_s / self.strides[index]


@dataclass(frozen=True)
class RankRecord:
    """What one training process did."""

    rank: int
    node: str
    pid: int
    steps: StepSeries
    events: tuple[Event, ...]
    fingerprints: tuple[Fingerprint, ...]
    started_s: float
    """When the interpreter started, on the machine's monotonic clock."""
    complete: bool
    """Whether the process ended by itself and wrote its trailer."""
    hook_s: float | None
    """Seconds that the agent's hooks took per step (median), as timed by the agent itself."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """Signals that could not be installed, and why."""
    sees_start: bool = True
    """Whether it begins with the process; else ``started_s`` is when the evidence begins."""

    def events_of(self, signal: str) -> Iterator[Event]:
        """The events of one signal, in order."""
        return (event for event in self.events if event.signal == signal)


@dataclass(frozen=True)
class ProcessSample:
    """Counters of the whole process tree at one moment; cumulative unless said otherwise.

    None where this machine does not let them be read.
    """

    t_s: float
    processes: int
    threads: int
    rss_bytes: int
    cpu_s: float
    minor_faults: int | None
    major_faults: int | None
    physical_read_bytes: int | None
    """Bytes that came from the disk (``read_bytes`` of /proc/PID/io)."""
    logical_read_bytes: int | None
    """Bytes that read calls returned, cached or not (``rchar``)."""
    run_queue_s: float | None
    """Seconds spent runnable but waiting for a CPU (/proc/PID/schedstat)."""
    cpus_allowed: int | None


@dataclass(frozen=True)
class HostSample:
    """Counters of the whole machine at one moment; cumulative."""

    t_s: float
    busy_s: float
    """CPU seconds that all processes together used."""
    steal_s: float | None
    pressure_cpu_s: float | None
    """Seconds during which some task waited for a CPU (pressure stall information)."""
    pressure_io_s: float | None
    pressure_memory_s: float | None
    refaults: int | None
    """Pages that had to be read again after they had been evicted (workingset_refault_file)."""
    swap_ins: int | None = None
    """Pages that came back from swap (pswpin)."""
    left_over_cpu_s: float | None = None
    """CPU seconds of the processes in ``RunRecord.left_overs``, since each was first seen."""


@dataclass(frozen=True)
class LeftOver:
    """A process whose parent has died, and that belongs to no run that anybody waits for."""

    pid: int
    command: str
    """Its command line, cut short."""
    started_unix_s: float
    rss_bytes: int
    holds_gpu: bool
    """Whether it has a GPU's device file open."""


@dataclass(frozen=True)
class Turn:
    """One stretch during which this run was allowed to go on while the other arm was held."""

    t_start_s: float
    t_end_s: float
    phase: str
    """``alone`` (the other arm did not exist yet), ``interleaved``, or the name of a treated run that took
    its turns with both (facts.treatment)."""
    sampled: bool
    """Whether the stack sampler ran."""


@dataclass(frozen=True)
class SourceLine:
    """A place in a source file."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class StackProfile:
    """Where one training process spent its time, by the user's own lines."""

    rank: int
    sampled_s: float
    """Seconds that the samples stand for."""
    samples: int
    lines: Mapping[SourceLine, float]
    """Seconds by the innermost line that belongs to neither Python nor a library."""
    stacks: Mapping[tuple[SourceLine, ...], float] = field(default_factory=dict)
    """Seconds by whole stack, the outermost frame first; its files are as the sampler names them."""


@dataclass(frozen=True)
class RunMeta:
    """What was run, where, and how it ended."""

    path: str
    command: tuple[str, ...]
    cwd: str
    host: str
    created_unix_s: float
    arm: str | None
    """``before`` or ``after`` where a probe made it; None for a plain recording."""
    complete: bool
    """Whether the recording has its trailer."""
    ended_by: str | None
    """``itself``, ``doctor``, ``signal N``; None where the recording was cut short."""
    exit_code: int | None
    options: Mapping[str, object] = field(default_factory=dict)
    origin_step: int | None = None
    """The step that counts as the first since the save or the resume; None: the first of all."""
    checkpoint: str | None = None
    """The checkpoint that was saved (before) or loaded (after)."""
    kind: str = "recording"
    """What it was read from, in words: a recording, or a kind of evidence of ``readers/traces``."""


@dataclass(frozen=True)
class RunRecord:
    """One recorded run."""

    meta: RunMeta
    ranks: tuple[RankRecord, ...]
    samples: tuple[ProcessSample, ...] = ()
    host: tuple[HostSample, ...] = ()
    turns: tuple[Turn, ...] = ()
    stacks: tuple[StackProfile, ...] = ()
    left_overs: tuple[LeftOver, ...] = ()
    """Processes of an earlier run that were seen to be alive."""
    read_files: frozenset[str] = frozenset()
    """Files that the run opened for reading, where that was watched."""
    written_files: frozenset[str] = frozenset()
    """Files that it opened for writing, or moved something to."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """What could not be sampled from outside, and why."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how it was read, one sentence each."""
