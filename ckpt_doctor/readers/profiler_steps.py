"""The steps of a profiled process, and what fills them, from the times that its trace holds.

A step is a ``ProfilerStep`` mark, or, where there is none, the time from the end of one optimizer step to
that of the next (of the first optimizer, where several take turns). Data wait, optimizer and compilation are
spans that torch marks by name; backward lasts from the first to the last function of an uninterrupted run of
autograd. All of these are times of the host. On a GPU the kernels tell how long it was busy, and how long it
had nothing to do while the host waited for data.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ckpt_doctor.facts.run import Event, StepSeries
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.profiler_events import Collected, Thread, Timed
from ckpt_doctor.readers.timeline import (
    Span,
    Stretch,
    Stretches,
    covered_s,
    in_order,
    joined,
    met,
    ordered,
    parts_of,
    runs_of,
    union_of,
)

PARTS = ("data_wait", "compile", "forward", "backward", "optimizer", "rest")
"""Parts that a trace tells apart; garbage collections and saves lie in the rest."""

Column = tuple[float | None, ...]


@dataclass(eq=False, repr=False)
class Profiled:
    """One thread that trains: its steps, and what is known of them."""

    trace: Collected
    thread: Thread
    steps: list[Stretch]
    """The steps in order, none overlapping another."""

    def step_at(self, t_s: float) -> int | None:
        """The step that a moment lies in; None between steps."""
        index = bisect_right(self.steps, t_s, key=lambda step: step[1])
        return index if index < len(self.steps) and self.steps[index][0] <= t_s else None

    def own(self, spans: Iterable[Timed]) -> list[Timed]:
        """Those of some spans that lie on this thread and in no other one of them, in order."""
        return outermost(span for span in spans if span.thread == self.thread)


def profiled(trace: Collected) -> Profiled:
    """Find the thread that trains, and its steps.

    Raises:
        Malformed: Nothing marks a step.
    """
    if trace.marks:
        thread = _busiest(trace.marks)
        marks = [(mark.start_s, mark.end_s) for mark in trace.marks if mark.thread == thread]
        return Profiled(trace, thread, _trained(trace, _apart(marks)))
    if trace.optimizers:
        thread = _busiest(trace.optimizers)
        ends = _update_ends(outermost(span for span in trace.optimizers if span.thread == thread))
        if len(ends) > 1:
            return Profiled(trace, thread, list(pairwise(ends)))
    raise Malformed(
        "nothing in it marks a step: it has neither ProfilerStep marks nor several optimizer steps",
        "call prof.step() at the end of each step, and profile some of them",
    )


def outermost(spans: Iterable[Timed]) -> list[Timed]:
    """Spans that lie in no other one of their thread, in order."""
    found: list[Timed] = []
    ends_s: dict[Thread, float] = {}
    for span in sorted(spans, key=lambda each: (each.start_s, -each.end_s)):
        if span.start_s >= ends_s.get(span.thread, float("-inf")):
            ends_s[span.thread] = span.end_s
            found.append(span)
    return found


def series(run: Profiled) -> StepSeries:
    """The steps as columns."""
    spans = _spans(run)
    starts, ends = tuple(start_s for start_s, _ in run.steps), tuple(end_s for _, end_s in run.steps)
    return StepSeries(
        t_start_s=starts,
        t_end_s=ends,
        parts={part: tuple(column) for part, column in parts_of(run.steps, spans, PARTS).items()},
        observer_s=(0.0,) * len(run.steps),
        counters=_counters(run, spans),
        digests=(None,) * len(run.steps),
        digest_source=None,
    )


def compilations(run: Profiled) -> list[Event]:
    """Compilations and captures of CUDA graphs that ended within a step."""
    found = [
        Event("compile", span.end_s, step, span.end_s - span.start_s, {"trigger": _trigger(span.name)})
        for span in outermost(run.trace.compiles)
        if "compile" in span.name and (step := run.step_at(span.end_s)) is not None
    ]
    found += [
        Event("graph_capture", end_s, step, end_s - start_s, {"trigger": "capture"})
        for start_s, end_s in _captures(run.trace)
        if (step := run.step_at(end_s)) is not None
    ]
    return found


def worker_starts(run: Profiled) -> list[Event]:
    """Iterators that started workers, and the first batch after each; only stacks show them."""
    found = []
    batches = run.own(run.trace.data)
    for span in run.own(run.trace.iterators):
        workers = sum(1 for each in run.trace.process_starts if span.start_s <= each.start_s < span.end_s)
        step = run.step_at(span.end_s)
        if not workers or step is None:
            continue
        length_s = span.end_s - span.start_s
        found.append(Event("worker_start", span.end_s, step, length_s, {"workers": workers}))
        first = next((batch for batch in batches if batch.start_s >= span.end_s), None)
        place = None if first is None else run.step_at(first.end_s)
        if first is not None and place is not None:
            found.append(Event("first_batch", first.end_s, place, first.end_s - first.start_s))
    return found


def regions(trace: Collected) -> list[Timed]:
    """Calls of compiled code: by the newer of torch's two names where there is one, as it holds the older."""
    newer = [region for region in trace.regions if region.name.startswith("Torch")]
    return newer or trace.regions


def knows_work(trace: Collected) -> bool:
    """Whether the shapes tell the work of a step: compiled code hides what it multiplies."""
    return bool(trace.work.starts_s) and not trace.regions


def _busiest(spans: Sequence[Timed]) -> Thread:
    threads = [span.thread for span in spans]
    return max(dict.fromkeys(threads), key=threads.count)


def _apart(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Stretches in order, each cut where the one before it ends."""
    found: list[Stretch] = []
    for start_s, end_s in sorted(stretches):
        begin_s = max(start_s, found[-1][1]) if found else start_s
        if end_s > begin_s:
            found.append((begin_s, end_s))
    return found


def _trained(trace: Collected, marks: list[Stretch]) -> list[Stretch]:
    """The marks, but for a last one in which nothing is trained: it is what follows the last step."""
    moments = sorted([*(span.start_s for span in trace.optimizers), *trace.backward.starts_s])
    trains = [bisect_left(moments, end_s) > bisect_left(moments, start_s) for start_s, end_s in marks]
    return marks[:-1] if any(trains) and not trains[-1] else marks


def _update_ends(optimizers: Sequence[Timed]) -> list[float]:
    """Where steps end: where an optimizer steps that has already stepped since the last end."""
    ends: list[float] = []
    updated: set[str] = set()
    for span in optimizers:
        if updated and span.name not in updated:
            updated.add(span.name)
        else:
            updated = {span.name}
            ends.append(span.end_s)
    return ends


def _spans(run: Profiled) -> list[Span]:
    """Everything on the training thread's time line that is a part of its own."""
    trace = run.trace
    backwards = _backwards(run)
    spans = [
        *(Span(s.start_s, s.end_s, "data_wait") for s in run.own([*trace.data, *trace.iterators])),
        *(Span(_update_start_s(s, backwards), s.end_s, "optimizer") for s in run.own(trace.optimizers)),
        # Compiled in autograd's thread, it interrupts a backward that the training thread waits for.
        *(Span(s.start_s, s.end_s, "compile") for s in outermost(trace.compiles)),
        *(Span(start_s, end_s, "compile") for start_s, end_s in _captures(trace)),
        *(Span(start_s, end_s, "backward") for start_s, end_s in backwards),
    ]
    return sorted(spans)


def _update_start_s(optimizer: Timed, backwards: Sequence[Stretch]) -> float:
    """Where an optimizer's own work begins: behind the backward of a closure that it ran."""
    following = bisect_left(backwards, (optimizer.end_s, optimizer.end_s))
    last_end_s = backwards[following - 1][1] if following else optimizer.start_s
    return min(max(optimizer.start_s, last_end_s), optimizer.end_s)


def _backwards(run: Profiled) -> list[Stretch]:
    """The backward passes: runs of autograd's functions, in whatever thread, that nothing interrupts."""
    trace = run.trace
    operators = trace.operators.get(run.thread)
    marks = sorted(span.start_s for span in (*trace.data, *trace.optimizers) if span.thread == run.thread)
    own = array("d") if operators is None else ordered(operators.starts_s)
    return runs_of(in_order((trace.backward.starts_s, trace.backward.ends_s)), (marks, own))


def _captures(trace: Collected) -> list[Stretch]:
    """From the begin of each capture of a CUDA graph to its end, on the same thread."""
    found: list[Stretch] = []
    open_s: dict[Thread, float] = {}
    for t_s, thread, begins in sorted(trace.captures, key=lambda each: each[0]):
        if begins:
            open_s[thread] = t_s
        elif thread in open_s:
            found.append((open_s.pop(thread), t_s))
    return found


def _trigger(name: str) -> str:
    return "lazy_backward" if "backward" in name or "bw_compiler" in name else "dynamo"


def _counters(run: Profiled, spans: Sequence[Span]) -> dict[str, Column]:
    trace = run.trace
    counters: dict[str, Column] = {
        "batches": _count(run, (span.start_s for span in run.own(trace.data))),
        "backwards": _count(run, (span.start_s for span in spans if span.part == "backward")),
        "optimizer_steps": _count(run, (span.start_s for span in run.own(trace.optimizers))),
        "compiled_regions": _count(run, (region.start_s for region in regions(trace))),
        "operator_s": _operator_s(run, spans),
    }
    if knows_work(trace):
        counters["multiply_adds"] = _sums(run, zip(trace.work.starts_s, trace.work.ends_s, strict=True))
    if trace.kernels:
        counters["graph_replays"] = _count(run, trace.launches_s)
        counters.update(_device_counters(run, spans))
    return counters


def _count(run: Profiled, moments: Iterable[float]) -> Column:
    """How many of some moments lie in each step."""
    return _sums(run, ((t_s, 1.0) for t_s in moments))


def _sums(run: Profiled, amounts: Iterable[tuple[float, float]]) -> Column:
    """Sum of the amounts whose moments lie in each step."""
    totals = [0.0] * len(run.steps)
    for t_s, amount in amounts:
        step = run.step_at(t_s)
        if step is not None:
            totals[step] += amount
    return tuple(totals)


def _operator_s(run: Profiled, spans: Sequence[Span]) -> Column:
    """Seconds in which the training thread ran operators, outside of what has a part of its own."""
    operators = run.trace.operators.get(run.thread)
    if operators is None:
        return (0.0,) * len(run.steps)
    taken = _columns(union_of([_stretches(spans)]))
    every = in_order((operators.starts_s, operators.ends_s))
    running = joined(stretch for stretch in every if not met(taken, stretch))
    return tuple(covered_s(_columns(run.steps), running))


def _device_counters(run: Profiled, spans: Sequence[Span]) -> dict[str, Column]:
    """What the devices did: busy, idle, and idle while the host waited for data."""
    busy_s = covered_s(_columns(run.steps), _busy(run))
    idle_s = [end_s - start_s - s for (start_s, end_s), s in zip(run.steps, busy_s, strict=True)]
    waits = union_of([_stretches([span for span in spans if span.part == "data_wait"])])
    return {
        "device_busy_s": tuple(busy_s),
        "device_idle_s": tuple(idle_s),
        "exposed_data_wait_s": _idle_within(run, list(waits)),
    }


def _busy(run: Profiled) -> Iterator[Stretch]:
    """When at least one device worked."""
    return union_of((times.starts_s, times.ends_s) for times in run.trace.kernels.values())


def _idle_within(run: Profiled, stretches: Sequence[Stretch]) -> Column:
    """Seconds of each step that lie in some stretches and in which no device worked."""
    steps, pieces = _columns(run.steps), []
    for start_s, end_s in stretches:
        for step in met(steps, (start_s, end_s)):
            pieces.append((step, (max(start_s, steps[0][step]), min(end_s, steps[1][step]))))
    busy_s = covered_s(_columns([piece for _, piece in pieces]), _busy(run))
    totals_s = [0.0] * len(run.steps)
    for (step, (start_s, end_s)), s in zip(pieces, busy_s, strict=True):
        totals_s[step] += end_s - start_s - s
    return tuple(totals_s)


def _stretches(spans: Sequence[Span]) -> Stretches:
    return [span.start_s for span in spans], [span.end_s for span in spans]


def _columns(stretches: Iterable[Stretch]) -> Stretches:
    """Starts, and ends, of stretches."""
    starts_s, ends_s = array("d"), array("d")
    for start_s, end_s in stretches:
        starts_s.append(start_s)
        ends_s.append(end_s)
    return starts_s, ends_s
