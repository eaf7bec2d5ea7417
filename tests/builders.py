"""Makes runs and comparisons for tests: step times in, the same records that a reader would return out."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ckpt_doctor.checks import engine, verdict
from ckpt_doctor.facts.checklist import ChecklistCase
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.guards import Guards
from ckpt_doctor.facts.report import Case, Finding, Report
from ckpt_doctor.facts.run import (
    Event,
    Fingerprint,
    HostSample,
    ProcessSample,
    RankRecord,
    RunMeta,
    RunRecord,
    SourceLine,
    StackProfile,
    StepSeries,
    Turn,
)
from ckpt_doctor.facts.states import Presence, PresenceStatus, StateKind
from ckpt_doctor.stats.comparison import compare_runs

CORES = 2
START_UP_S = 2.0
HOST_FIELDS = ("refaults", "swap_ins", "pressure_memory_s", "left_over_cpu_s")
"""Cumulative fields of HostSample that a run can be given."""
Column = float | Sequence[float]


def make_run(
    times_s: Sequence[float],
    *,
    arm: str = "before",
    origin: int = 0,
    parts: Mapping[str, Column] | None = None,
    counters: Mapping[str, Column] | None = None,
    sampled: Mapping[str, Column] | None = None,
    events: Sequence[Event] = (),
    values: Mapping[str, object] | None = None,
    digests: Sequence[str | None] | None = None,
    digest_source: str | None = "indices",
    turn_steps: int | None = None,
    alone_turns: int = 0,
    other_cpu_ratio: float = 0.0,
    lines: Mapping[tuple[str, int], float] | None = None,
    rank: int = 0,
    complete: bool = True,
    not_measured: Mapping[str, str] | None = None,
) -> RunRecord:
    """A run with one process.

    Args:
        times_s: Step times; the rest of each step is what ``parts`` leave of it.
        arm: ``before`` or ``after``.
        origin: First step since the save.
        parts: Seconds by part, for all steps or for each.
        counters: Counts per step, for all steps or for each.
        sampled: Amounts per step of the cumulative fields of ProcessSample and HostSample.
        events: What happened.
        values: The fingerprint.
        digests: What fed each step.
        digest_source: What was hashed.
        turn_steps: Take turns of so many steps, with pauses between them.
        alone_turns: So many of the first turns had no other arm beside them.
        other_cpu_ratio: What other processes used of the machine, 0 to 1.
        lines: Seconds per step of the user's lines.
        rank: Rank of the process.
        complete: Whether the recording has its trailer.
        not_measured: Signals that are missing, and why.
    """
    n = len(times_s)
    starts, ends, turns = _lay_out(times_s, turn_steps, alone_turns)
    known = {name: _column(column, n) for name, column in (parts or {}).items()}
    rest = tuple(t - sum(column[i] for column in known.values()) for i, t in enumerate(times_s))
    steps = StepSeries(
        t_start_s=starts,
        t_end_s=ends,
        parts={**known, "rest": rest},
        observer_s=(0.0,) * n,
        counters={name: _column(column, n) for name, column in (counters or {}).items()},
        digests=tuple(digests) if digests is not None else (None,) * n,
        digest_source=digest_source if digests is not None else None,
    )
    record = RankRecord(
        rank=rank,
        node="here",
        pid=100 + rank,
        steps=steps,
        events=tuple(events),
        fingerprints=(Fingerprint(3, dict(values)),) if values else (),
        started_s=starts[0] - START_UP_S if n else 0.0,
        complete=complete,
        hook_s=5e-6,
        not_measured=not_measured or {},
    )
    meta = RunMeta(
        path=f"rec/{arm}",
        command=("python", "train.py"),
        cwd="/home/user",
        host="here",
        created_unix_s=1.7e9,
        arm=arm,
        complete=complete,
        ended_by="doctor",
        exit_code=None,
        origin_step=origin,
        checkpoint="ckpt.pt",
    )
    return RunRecord(
        meta=meta,
        ranks=(record,),
        samples=_process_samples(steps, sampled or {}),
        host=_host_samples(steps, sampled or {}, other_cpu_ratio),
        turns=turns,
        stacks=_stacks(times_s, lines, rank),
    )


def make_case(before: RunRecord, after: RunRecord) -> Case:
    """A case of two compared runs, as the rules get it."""
    return Case(comparison=compare_runs(before, after))


def comparison_of(case: Case) -> Comparison:
    """The case's comparison, which it has."""
    assert case.comparison is not None
    return case.comparison


def make_checkpoint(present: Collection[StateKind], absent: Collection[StateKind] = ()) -> CheckpointFacts:
    """A checkpoint of which some states are known to be there, and some not to be; the others are unknown."""
    known = {
        kind: PresenceStatus.PRESENT if kind in present else PresenceStatus.UNKNOWN for kind in StateKind
    }
    known |= dict.fromkeys(absent, PresenceStatus.ABSENT)
    states = {kind: Presence(status) for kind, status in known.items()}
    return CheckpointFacts("ckpt.pt", "torch_zip", "generic", size_bytes=1000, read_bytes=100, states=states)


def make_checklist_case(case: Case, *, guards: Guards | None = None, **changes: Any) -> ChecklistCase:
    """What the checklist gets of two runs once all rules were asked; ``changes`` are fields of the report."""
    findings, not_evaluated = engine.judge(case)
    report = Report(
        command="probe",
        verdict=verdict.decide(case, findings),
        findings=findings,
        not_evaluated=not_evaluated,
        comparison=case.comparison,
        checkpoints=case.checkpoints,
    )
    return ChecklistCase(replace(report, **changes), comparison_of(case), guards)


PARTS: Mapping[str, Column] = {"data_wait": 0.001, "forward": 0.003, "backward": 0.004, "optimizer": 0.001}
COUNTERS: Mapping[str, Column] = {
    "batches": 1,
    "elements": 1000,
    "samples": 32,
    "backwards": 1,
    "optimizer_steps": 1,
    "minor_faults": 5,
    "user_s": 0.009,
    "system_s": 0.0005,
    "autocast_bfloat16": 0,
    "autocast_float16": 0,
    "activation_checkpoints": 0,
    "recompute_s": 0,
    "anomaly_backwards": 0,
    "profiled_backwards": 0,
    "retained_backwards": 0,
}
SAMPLED: Mapping[str, Column] = {
    "physical_read_bytes": 0,
    "logical_read_bytes": 100_000,
    "run_queue_s": 0.0001,
    "minor_faults": 5,
    "major_faults": 0,
    "pressure_memory_s": 0.0,
}
VALUES: Mapping[str, object] = {
    "threads.intra_op": 1,
    "cpus.allowed": 2,
    "optimizer.0.class": "AdamW",
    "optimizer.0.groups": 1,
    "optimizer.0.group.0.foreach": None,
    "optimizer.0.group.0.amsgrad": False,
    "optimizer.0.state_bytes": 1000,
    "optimizer.0.state_dtypes": "float32:1000",
    "loader.0.num_workers": 2,
    "loader.0.prefetch_factor": 2,
    "loader.0.persistent_workers": True,
}
SAVED_AT = 60
"""The control of the ordinary case saved at the end of this many steps."""
CONTROL_STEPS = 260
RESUMED_STEPS = 200


def control(mean_s: float = 0.01, *, count: int = CONTROL_STEPS, seed: int = 1, **changes: Any) -> RunRecord:
    """The ordinary control: 10 ms steps in turns of 20, saved at step 60; ``changes`` as in ``make_run``."""
    settings = _settings([str(i) for i in range(count)], changes)
    settings["events"] = (event("save", SAVED_AT, 0.01), *settings.get("events", ()))
    return make_run(noisy(mean_s, count, seed=seed), arm="before", origin=SAVED_AT, **settings)


def resumed(
    mean_s: float = 0.01,
    *,
    count: int = RESUMED_STEPS,
    seed: int = 2,
    stalls: Mapping[int, float] | None = None,
    longer: Sequence[float] | None = None,
    **changes: Any,
) -> RunRecord:
    """The ordinary resumed run, equal to the control but for ``changes``.

    ``stalls`` are seconds of data wait that some steps take beyond the others, ``longer`` seconds that each
    step takes beyond that, in the rest of it.
    """
    settings = _settings([str(i + SAVED_AT) for i in range(count)], changes)
    times = noisy(mean_s, count, seed=seed)
    if stalls:
        waits = _column(settings["parts"]["data_wait"], count)
        times = [t + stalls.get(i, 0.0) for i, t in enumerate(times)]
        waited = [wait + stalls.get(i, 0.0) for i, wait in enumerate(waits)]
        settings["parts"] = {**settings["parts"], "data_wait": waited}
    if longer:
        times = [t + more for t, more in zip(times, longer, strict=True)]
    return make_run(times, arm="after", **settings)


def _settings(digests: Sequence[str], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The ordinary settings with the changed entries replaced."""
    usual: dict[str, Any] = {
        "parts": PARTS,
        "counters": COUNTERS,
        "sampled": SAMPLED,
        "values": VALUES,
        "digests": digests,
        "turn_steps": 20,
    }
    merged = dict(usual)
    for name, value in changes.items():
        both = isinstance(usual.get(name), Mapping) and isinstance(value, Mapping)
        merged[name] = {**usual[name], **value} if both else value
    return merged


def one(findings: Sequence[Finding], code: str) -> Finding:
    """The only finding of a rule."""
    found = [f for f in findings if f.code == code]
    assert len(found) == 1, f"{code} among {[f.code for f in findings]}"
    return found[0]


def noisy(mean_s: float, count: int, *, seed: int, spread: float = 0.03, memory: float = 0.5) -> list[float]:
    """Step times that wander: an autoregressive process around a mean, never below a fifth of it."""
    rng = random.Random(seed)
    level, out = 0.0, []
    for _ in range(count):
        level = memory * level + rng.gauss(0.0, spread * (1.0 - memory**2) ** 0.5)
        out.append(mean_s * max(0.2, 1.0 + level))
    return out


def event(signal: str, step: int, duration_s: float | None = None, **fields: object) -> Event:
    """Something that happened at a step."""
    return Event(signal, 0.0, step, duration_s, fields)


def _lay_out(
    times_s: Sequence[float], turn_steps: int | None, alone_turns: int
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[Turn, ...]]:
    starts: list[float] = []
    ends: list[float] = []
    turns: list[Turn] = []
    clock_s = 1000.0
    size = turn_steps or max(1, len(times_s))
    for first in range(0, len(times_s), size):
        began_s = clock_s
        for step_s in times_s[first : first + size]:
            starts.append(clock_s)
            clock_s += step_s
            ends.append(clock_s)
        phase = "alone" if len(turns) < alone_turns else "interleaved"
        turns.append(Turn(began_s, clock_s, phase, False))
        clock_s += sum(times_s[first : first + size])
    return tuple(starts), tuple(ends), tuple(turns) if turn_steps else ()


def _column(column: Column, count: int) -> tuple[float, ...]:
    return (float(column),) * count if isinstance(column, (int, float)) else tuple(column)


def _process_samples(steps: StepSeries, sampled: Mapping[str, Column]) -> tuple[ProcessSample, ...]:
    """A sample at each step's edges; processes stand still between them."""
    n = len(steps)
    columns = {name: _column(column, n) for name, column in sampled.items() if name not in HOST_FIELDS}
    columns.setdefault("cpu_s", tuple(steps.step_s(i) for i in range(n)))
    totals = dict.fromkeys(columns, 0.0)
    samples = []
    for i in range(n):
        samples.append(_process_sample(steps.t_start_s[i], totals))
        totals = {name: total + columns[name][i] for name, total in totals.items()}
        samples.append(_process_sample(steps.t_end_s[i], totals))
    return tuple(samples)


def _process_sample(t_s: float, totals: Mapping[str, float]) -> ProcessSample:
    def whole(name: str) -> int | None:
        return round(totals[name]) if name in totals else None

    return ProcessSample(
        t_s=t_s,
        processes=1,
        threads=1,
        rss_bytes=10**8,
        cpu_s=totals["cpu_s"],
        minor_faults=whole("minor_faults"),
        major_faults=whole("major_faults"),
        physical_read_bytes=whole("physical_read_bytes"),
        logical_read_bytes=whole("logical_read_bytes"),
        run_queue_s=totals.get("run_queue_s"),
        cpus_allowed=CORES,
    )


def _host_samples(steps: StepSeries, sampled: Mapping[str, Column], other: float) -> tuple[HostSample, ...]:
    n = len(steps)
    cpu = _column(sampled.get("cpu_s", [steps.step_s(i) for i in range(n)]), n)
    columns = {name: _column(sampled[name], n) for name in HOST_FIELDS if name in sampled}
    totals = dict.fromkeys(columns, 0.0)
    busy_s, samples = 0.0, []
    for i in range(n):
        if i:
            busy_s += (steps.t_start_s[i] - steps.t_end_s[i - 1]) * other * CORES
        for t_s, share in ((steps.t_start_s[i], 0.0), (steps.t_end_s[i], 1.0)):
            busy_s += share * (cpu[i] + steps.step_s(i) * other * CORES)
            totals = {name: total + share * columns[name][i] for name, total in totals.items()}
            samples.append(_host_sample(t_s, busy_s, totals))
    return tuple(samples)


def _host_sample(t_s: float, busy_s: float, totals: Mapping[str, float]) -> HostSample:
    pages = {name: round(totals[name]) for name in ("refaults", "swap_ins") if name in totals}
    return HostSample(
        t_s,
        busy_s,
        steal_s=0.0,
        pressure_cpu_s=None,
        pressure_io_s=None,
        pressure_memory_s=totals.get("pressure_memory_s"),
        refaults=pages.get("refaults"),
        swap_ins=pages.get("swap_ins"),
        left_over_cpu_s=totals.get("left_over_cpu_s"),
    )


def _stacks(
    times_s: Sequence[float], lines: Mapping[tuple[str, int], float] | None, rank: int
) -> tuple[StackProfile, ...]:
    if lines is None:
        return ()
    seconds = {
        SourceLine(file, line, "train"): per_step * len(times_s) for (file, line), per_step in lines.items()
    }
    return (StackProfile(rank, sum(times_s), round(100 * sum(times_s)), seconds),)
