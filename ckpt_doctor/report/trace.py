"""Both runs on a time line, for https://ui.perfetto.dev and chrome://tracing.

Format: Trace Event Format (JSON object with ``traceEvents``; times in microseconds). Each training process
is a process of the trace: its steps and turns are slices, saves, loads, compilations and worker starts are
asynchronous slices, since they may overlap, and the parts of a step are counters: how much of a step went
into each of them is known, but not when. The process tree of each run has counters of its own.

Runs that took turns share one clock. Otherwise each run begins at its own zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from ckpt_doctor.report import series
from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.wording.json_values import cleaned

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Window
    from ckpt_doctor.facts.report import Report
    from ckpt_doctor.facts.run import RankRecord

SUFFIXES = (".trace.json", ".trace")

_STEPS, _TURNS, _EVENTS = 1, 2, 3
"""Threads of a process of the trace."""
_THREADS = {_STEPS: "steps", _TURNS: "turns", _EVENTS: "events"}
_EVERY_STEP = frozenset({"model_input"})
"""Signals that have an event at nearly every step and no length: they would hide the others."""
_MOST_SAMPLES = 10_000

Json = dict[str, Any]


def render(report: Report) -> str:
    """The runs as a trace; an empty one where no runs were compared."""
    comparison = report.comparison
    windows = {"before": comparison.before, "after": comparison.after} if comparison is not None else {}
    zeros = {arm: min(rank.started_s for rank in window.run.ranks) for arm, window in windows.items()}
    if comparison is not None and comparison.paired:
        zeros = dict.fromkeys(zeros, min(zeros.values()))
    events: list[Json] = []
    pids = count(1)
    for arm, window in windows.items():
        for rank in window.run.ranks:
            events += _process(next(pids), f"{arm}, rank {rank.rank}", window, rank, zeros[arm])
        events += _tree(next(pids), f"{arm}, all processes", window, zeros[arm])
    document = {"displayTimeUnit": "ms", "traceEvents": events}
    return json.dumps(cleaned(document), allow_nan=False) + "\n"


def _process(pid: int, name: str, window: Window, rank: RankRecord, zero_s: float) -> Iterator[Json]:
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for tid, thread in _THREADS.items():
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": thread}}
    yield from _steps(pid, window, rank, zero_s)
    for turn in window.run.turns:
        place = _place(pid, _TURNS, turn.t_start_s - zero_s)
        length_us = _us(turn.t_end_s - turn.t_start_s)
        yield {**place, "ph": "X", "dur": length_us, "cat": "turn", "name": harmless(turn.phase)}
    yield from _events(pid, rank, zero_s)


def _steps(pid: int, window: Window, rank: RankRecord, zero_s: float) -> Iterator[Json]:
    steps = rank.steps
    origin = window.origin if rank is window.rank else window.run.meta.origin_step or 0
    for i in range(len(steps)):
        place = _place(pid, _STEPS, steps.t_start_s[i] - zero_s)
        counters = {harmless(name): column[i] for name, column in steps.counters.items()}
        yield {
            **place,
            "ph": "X",
            "dur": _us(steps.t_end_s[i] - steps.t_start_s[i]),
            "cat": "step",
            "name": f"step {i - origin}",
            "args": {"step": i, "step_s": steps.step_s(i), **counters},
        }
        for part, column in steps.parts.items():
            yield {**place, "ph": "C", "name": f"{harmless(part)} (ms)", "args": {"ms": column[i] * 1e3}}


def _events(pid: int, rank: RankRecord, zero_s: float) -> Iterator[Json]:
    for number, event in enumerate(rank.events):
        if event.signal in _EVERY_STEP:
            continue
        name = harmless(event.signal)
        what = {"cat": name, "name": name, "args": {"step": event.step, **_shown(event.fields)}}
        if event.duration_s is None:
            yield {**_place(pid, _EVENTS, event.t_s - zero_s), **what, "ph": "i", "s": "t"}
            continue
        # Two starts of workers may overlap: slices of one thread may not.
        for phase, t_s in (("b", event.t_s - event.duration_s), ("e", event.t_s)):
            yield {**_place(pid, _EVENTS, t_s - zero_s), **what, "ph": phase, "id": f"{pid}-{number}"}


def _tree(pid: int, name: str, window: Window, zero_s: float) -> Iterator[Json]:
    tree = series.process_tree(window.run, lambda t_s: t_s - zero_s, _MOST_SAMPLES)
    if not any(tree):
        return
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for counter, points in tree._asdict().items():
        for t_s, value in points:
            yield {**_place(pid, 0, t_s), "ph": "C", "name": counter, "args": {"value": value}}


def _place(pid: int, tid: int, t_s: float) -> Json:
    return {"pid": pid, "tid": tid, "ts": _us(t_s)}


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _shown(fields: Any) -> Json:
    """What an event says of itself, as text or numbers."""
    return {
        harmless(str(name)): value if isinstance(value, (int, float)) else harmless(str(value))
        for name, value in fields.items()
        if value is not None
    }
