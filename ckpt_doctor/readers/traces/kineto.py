"""Traces of torch.profiler (Kineto), as JSON or gzipped JSON; a folder may hold one for each rank or cycle.

A trace begins in the middle of a run: what the process did before, memory, files and most settings are not
in it. Steps at its beginning in which something is compiled or captured are left out, since every process
does that once. ``readers/profiler_events.py`` says what is read, ``readers/profiler_steps.py`` what a step
is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from ckpt_doctor.facts.run import Event, Fingerprint, RankRecord, RunRecord, StepSeries
from ckpt_doctor.readers.absences import absences
from ckpt_doctor.readers.evidence import Evidence, Hints, TraceFile
from ckpt_doctor.readers.json_text import JsonText
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.profiler_events import Collected, collect
from ckpt_doctor.readers.profiler_steps import (
    compilations,
    knows_work,
    outermost,
    profiled,
    regions,
    series,
    worker_starts,
)
from ckpt_doctor.readers.step_log import evidence_meta
from ckpt_doctor.readers.text import clean

NAME = "Kineto trace"
ORDER = 10
IN_FOLDERS = True

_OBJECT = re.compile(r'\s*\{.*?"(traceEvents|deviceProperties|baseTimeNanoseconds|traceName)"\s*:', re.DOTALL)
_ARRAY = re.compile(r'\s*\[\s*\{[^{}]*"ph"\s*:')
_RANK = re.compile(r"rank[-_.]?(\d{1,7})", re.IGNORECASE)
_PROFILED = "The times are those of a run under torch.profiler, which makes steps longer."
_NAMED_FILES = 4


class _Traced(NamedTuple):
    """One file, read."""

    name: str
    rank: RankRecord
    base_s: float
    """Unix time of the trace's first event."""
    left_out: int
    """Steps at its beginning that are not told."""


def claims(file: TraceFile, hints: Hints) -> bool:
    """An object that begins with the keys of a trace, or an array of events."""
    text = file.head_text
    return _OBJECT.match(text) is not None or _ARRAY.match(text) is not None


def read(evidence: Evidence) -> list[RunRecord]:
    """See ``traces``.

    Raises:
        Malformed: A trace is damaged, nothing in it marks a step, or it is not clear whose traces these are.
    """
    traced = sorted((_read(file) for file in evidence.files), key=lambda each: (each.rank.rank, each.base_s))
    ranks = tuple(_joined(list(group)) for _, group in groupby(traced, key=lambda each: each.rank.rank))
    notes = [_PROFILED] + [
        f"{each.left_out} steps at the beginning of {each.name} are left out: "
        "something was compiled or captured in them."
        for each in traced
        if each.left_out
    ]
    return [RunRecord(evidence_meta(evidence.path, NAME, traced[0].base_s), ranks, notes=tuple(notes))]


def _read(file: TraceFile) -> _Traced:
    name = clean(file.name or file.path, 4096)
    try:
        trace = collect(JsonText(file.chunks()))
        run = profiled(trace)
    except Malformed as error:
        raise Malformed(f"{name}: {error.why}" if file.name else error.why, error.hint) from error
    compiled = compilations(run)
    left_out = _leading(len(run.steps), compiled)
    events = [replace(event, step=event.step - left_out) for event in compiled if event.step >= left_out]
    run.steps = run.steps[left_out:]
    steps = series(run)
    rank = RankRecord(
        rank=_rank(trace, name),
        node="",
        pid=run.thread[0] if isinstance(run.thread[0], int) else 0,
        steps=steps,
        events=tuple(sorted([*events, *worker_starts(run)], key=lambda event: event.t_s)),
        fingerprints=(Fingerprint(0, _fingerprint(trace, steps)),),
        started_s=steps.t_start_s[0],
        complete=True,
        hook_s=None,
        not_measured=absences(NAME, _told(trace)),
        sees_start=False,
    )
    return _Traced(name, rank, (trace.base_us or 0.0) * 1e-6, left_out)


def _leading(count: int, compiled: Sequence[Event]) -> int:
    """Steps at the beginning that compile or capture, one after the other; 0 where half of all do."""
    busy = {event.step for event in compiled}
    leading = next((step for step in range(count) if step not in busy), count)
    return leading if 2 * leading < count else 0


def _told(trace: Collected) -> set[str]:
    """What a trace tells of the signals of a recording."""
    told = {"parts", "batches", "backwards", "compile", "graph_capture", "settings"}
    if knows_work(trace):
        told.add("elements")
    if trace.kernels:
        told.add("machine")
    if trace.header.get("with_stack"):
        told.add("worker_start")
    return told


def _fingerprint(trace: Collected, steps: StepSeries) -> dict[str, object]:
    """Settings that a trace tells, under the names that the agent gives them."""
    classes = dict.fromkeys(span.name.partition("#")[2] for span in outermost(trace.optimizers))
    names = {region.name for region in regions(trace)}
    # The older name is the same for all regions: then as many as a step calls.
    calls = max((count or 0.0 for count in steps.counters["compiled_regions"]), default=0.0)
    values: dict[str, object] = {
        **{f"optimizer.{i}.class": clean(name.partition(".")[0], 80) for i, name in enumerate(classes)},
        "compiled.frames": len(names) if len(names) > 1 else int(calls),
    }
    world_size = _distributed(trace).get("world_size")
    if isinstance(world_size, int):
        values["env.WORLD_SIZE"] = str(world_size)
    if trace.kernels:
        values["model.devices"] = "cuda"
        values["machine.gpu"] = _device_names(trace) or None
    return values


def _device_names(trace: Collected) -> str:
    """The devices that something ran on, by name."""
    properties = trace.header.get("deviceProperties")
    named = {
        each["id"]: clean(str(each.get("name")), 80)
        for each in (properties if isinstance(properties, list) else ())
        if isinstance(each, dict) and isinstance(each.get("id"), int)
    }
    return ", ".join(sorted({named[device] for device in trace.devices if device in named}))


def _rank(trace: Collected, name: str) -> int:
    """The rank: what the trace says, else what the file's name says, else 0."""
    rank = _distributed(trace).get("rank")
    if isinstance(rank, int):
        return rank
    named = _RANK.search(name.rpartition("/")[2])
    return int(named[1]) if named is not None else 0


def _distributed(trace: Collected) -> Mapping[str, object]:
    found = trace.header.get("distributedInfo")
    return found if isinstance(found, dict) else {}


def _joined(traced: Sequence[_Traced]) -> RankRecord:
    """The cycles of one rank, made into one record.

    Raises:
        Malformed: They are of different processes.
    """
    first, *others = traced
    if any(each.rank.pid != first.rank.pid for each in others):
        names = ", ".join(each.name for each in traced[:_NAMED_FILES])
        raise Malformed(
            f"it holds traces of several processes of rank {first.rank.rank}", f"name one of them: {names}"
        )
    record = first.rank
    for each in others:
        record = _appended(record, each.rank, each.base_s - first.base_s)
    return record


def _appended(record: RankRecord, later: RankRecord, shift_s: float) -> RankRecord:
    """A record with the steps of a later cycle behind its own."""
    one, two = record.steps, later.steps
    steps = StepSeries(
        t_start_s=one.t_start_s + tuple(t_s + shift_s for t_s in two.t_start_s),
        t_end_s=one.t_end_s + tuple(t_s + shift_s for t_s in two.t_end_s),
        parts={part: one.parts[part] + two.parts[part] for part in one.parts},
        observer_s=one.observer_s + two.observer_s,
        counters={
            name: one.counters.get(name, (None,) * len(one)) + two.counters.get(name, (None,) * len(two))
            for name in {**one.counters, **two.counters}
        },
        digests=one.digests + two.digests,
        digest_source=None,
    )
    moved = (replace(e, t_s=e.t_s + shift_s, step=e.step + len(one)) for e in later.events)
    return replace(record, steps=steps, events=(*record.events, *moved))
