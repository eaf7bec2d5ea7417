"""Rows of a log become runs: what each row says of a step, or of the steps since the row before.

Where rows have a clock and a step number, the step time is the time between two rows over the steps between
them: it holds all that happens, epoch ends included. Where they have only a duration, that is the step time.
What a framework says of its own speed is kept beside it and never trusted: after a resume the steps of all
sessions may have been divided by the time of one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ckpt_doctor.facts.run import Event, RankRecord, RunMeta, RunRecord, StepSeries
from ckpt_doctor.readers.absences import absences
from ckpt_doctor.readers.columns import TOLD_PARTS
from ckpt_doctor.readers.limits import Malformed

MAX_ROWS = 1_000_000
"""Rows of one log."""
MAX_COMPARED_ROWS = 4096
"""Longer logs are compared by means of several rows: resampling more takes minutes and tells no more."""
MIN_POINTS = 4
"""Fewer rows with a clock are no series."""
COARSE_ROWS = 20
"""A clock of whole seconds that leaves fewer rows gives way to the log's own durations, if they agree."""
TICKS = 10
"""The time between two rows is at least so many ticks of the clock, so that none is off by over a tenth."""
AGREEMENT_RATIO = 1.1
"""Durations within this factor of the clock agree with it."""
OVERFULL_RATIO = 1.05
"""Parts that add up to more than this of the step overlap: how long each takes of a step is not known."""
RATE = "reported_rate"
"""Signal of what a log says of its own speed: fields ``name``, ``per_s`` and ``steps`` (whether it counts
steps)."""
_NAN = math.nan


@dataclass(eq=False, repr=False)
class Log:
    """Rows of a log, by column; what a row does not say is not a number."""

    columns: dict[str, array[float]] = field(default_factory=dict)
    rates: dict[str, array[float]] = field(default_factory=dict)
    """The framework's own rates, by the name of their column."""
    step_rates: set[str] = field(default_factory=set)
    """Those of them that count steps."""
    length: int = 0

    def add(self, values: Mapping[str, float], rates: Mapping[str, float]) -> None:
        """Append a row.

        Raises:
            Malformed: There are too many.
        """
        if self.length >= MAX_ROWS:
            raise Malformed(f"it has more than {MAX_ROWS:,} rows", "name a part of it")
        for columns, row in ((self.columns, values), (self.rates, rates)):
            for name in row:
                if name not in columns:
                    columns[name] = array("d", [_NAN]) * self.length
            for name, column in columns.items():
                column.append(row.get(name, _NAN))
        self.length += 1

    def column(self, name: str) -> Sequence[float]:
        """A column, which is all unknown where the log has none of this name."""
        return self.columns.get(name) or array("d", [_NAN]) * self.length


class _Row(NamedTuple):
    """Some rows of the log that make one row of the series."""

    first: int
    """Index of its first row in the log, inclusive."""
    last: int
    """Index of its last row, inclusive."""
    start_s: float
    end_s: float
    steps: int


def runs_of(log: Log, path: str, kind: str, *, notes: Sequence[str] = ()) -> list[RunRecord]:
    """The runs in a log, oldest first: one begins where the step number or the clock goes back.

    Args:
        log: The rows.
        path: Where it was read from.
        kind: What it is, in words.
        notes: What a reader should know about the reading.

    Returns:
        Runs that have steps; none where there are too few.

    Raises:
        Malformed: Nothing in it tells how long a step took.
    """
    if not ({"step", "time_s"} <= log.columns.keys() or {"step_s", "steps_per_s"} & log.columns.keys()):
        raise Malformed("nothing in it tells how long a step took")
    runs = (_run(log, rows, path, kind, tuple(notes)) for rows in _sessions(log))
    return [run for run in runs if run is not None]


def _sessions(log: Log) -> list[range]:
    """Stretches of rows in which neither the step number nor the clock goes back."""
    starts = [0]
    columns = [log.column("step"), log.column("time_s")]
    latest = [-math.inf, -math.inf]
    for index in range(log.length):
        here = [column[index] for column in columns]
        if any(value < last for value, last in zip(here, latest, strict=True)):
            starts.append(index)
            latest = [-math.inf, -math.inf]
        latest = [last if math.isnan(v) else v for v, last in zip(here, latest, strict=True)]
    return [range(a, b) for a, b in pairwise([*starts, log.length])]


def _run(log: Log, session: range, path: str, kind: str, notes: tuple[str, ...]) -> RunRecord | None:
    rows = _rows(log, session)
    if not rows:
        return None
    parts, overfull = _parts(log, rows)
    if overfull:
        notes = (*notes, "The parts of a step that it names take longer than the step, and are left out.")
    strides = tuple(row.steps for row in rows)
    steps = StepSeries(
        t_start_s=tuple(row.start_s for row in rows),
        t_end_s=tuple(row.end_s for row in rows),
        parts=parts,
        observer_s=(0.0,) * len(rows),
        counters={
            name: tuple(_known(_mean(log.columns[name], row)) for row in rows)
            for name in ("samples", "elements")
            if name in log.columns
        },
        digests=(None,) * len(rows),
        digest_source=None,
        strides=None if all(count == 1 for count in strides) else strides,
    )
    told = {*(name for name in ("elements",) if name in log.columns), *(("parts",) if parts else ())}
    rank = RankRecord(
        rank=0,
        node="",
        pid=0,
        steps=steps,
        events=tuple(_rate_events(log, rows)),
        fingerprints=(),
        started_s=steps.t_start_s[0],
        complete=True,
        hook_s=None,
        not_measured=absences(kind, told),
        sees_start=False,
    )
    return RunRecord(meta=evidence_meta(path, kind, rows[0].start_s), ranks=(rank,), notes=notes)


def evidence_meta(path: str, kind: str, began_s: float, *, host: str = "") -> RunMeta:
    """What is known of a run that no recording tells of: next to nothing."""
    return RunMeta(
        path=path,
        command=(),
        cwd="",
        host=host,
        created_unix_s=began_s,
        arm=None,
        complete=True,
        ended_by=None,
        exit_code=None,
        kind=kind,
    )


def _rows(log: Log, session: range) -> list[_Row]:
    """The rows of the series: by the clock where there is one, else by the log's own durations."""
    timed, told = _clock_rows(log, session), _duration_rows(log, session)
    if len(timed) >= COARSE_ROWS or not told:
        return timed
    agrees = not timed or 1 / AGREEMENT_RATIO <= _step_s(told) / _step_s(timed) <= AGREEMENT_RATIO
    return told if agrees and len(told) > len(timed) else timed or told


def _step_s(rows: Sequence[_Row]) -> float:
    return math.fsum(row.end_s - row.start_s for row in rows) / sum(row.steps for row in rows)


def _clock_rows(log: Log, session: range) -> list[_Row]:
    """Rows between two readings of the clock, of about as many steps each."""
    step, time_s = log.column("step"), log.column("time_s")
    points = [i for i in session if not math.isnan(step[i] + time_s[i])]
    points = [i for j, i in enumerate(points) if j == 0 or step[i] > step[points[j - 1]]]
    if len(points) < MIN_POINTS:
        return []
    usual = median(step[b] - step[a] for a, b in pairwise(points))
    least = max(usual, (step[points[-1]] - step[points[0]]) / MAX_COMPARED_ROWS)
    least_s = TICKS if all(time_s[i] == int(time_s[i]) for i in points) else 0.0
    rows: list[_Row] = []
    start = points[0]
    for point in points[1:]:
        if step[point] - step[start] >= least and time_s[point] - time_s[start] > least_s:
            count = round(step[point] - step[start])
            rows.append(_Row(start + 1, point, time_s[start], time_s[point], count))
            start = point
    # What is logged once at the end, as the run's own summary, belongs to the last row.
    return [*rows[:-1], rows[-1]._replace(last=session[-1])] if rows else []


def _duration_rows(log: Log, session: range) -> list[_Row]:
    """Rows of one step each, or of several where there are too many; their times follow one another."""
    step_s, rate = log.column("step_s"), log.column("steps_per_s")
    lengths = [(i, step_s[i] if step_s[i] > 0 else 1 / rate[i] if rate[i] > 0 else 0.0) for i in session]
    lengths = [(i, length_s) for i, length_s in lengths if length_s > 0]
    group = max(1, math.ceil(len(lengths) / MAX_COMPARED_ROWS))
    rows: list[_Row] = []
    t_s = 0.0
    for at in range(0, len(lengths) - group + 1, group):
        some = lengths[at : at + group]
        length_s = math.fsum(value for _, value in some)
        rows.append(_Row(some[0][0], some[-1][0], t_s, t_s + length_s, group))
        t_s += length_s
    return rows


def _parts(log: Log, rows: Sequence[_Row]) -> tuple[dict[str, tuple[float, ...]], bool]:
    """The parts of a step that the log names, with the rest; and whether they had to be left out."""
    named = {
        part: [_mean(log.columns[f"{part}_s"], row) for row in rows]
        for part in TOLD_PARTS
        if f"{part}_s" in log.columns
    }
    known = {part: values for part, values in named.items() if not any(map(math.isnan, values))}
    if not known:
        return {}, False
    whole = [(row.end_s - row.start_s) / row.steps for row in rows]
    told = [math.fsum(column) for column in zip(*known.values(), strict=True)]
    if math.fsum(told) > OVERFULL_RATIO * math.fsum(whole):
        return {}, True
    rest = [step_s - part_s for step_s, part_s in zip(whole, told, strict=True)]
    return {**{part: tuple(values) for part, values in known.items()}, "rest": tuple(rest)}, False


def _mean(column: Sequence[float], row: _Row) -> float:
    """Mean of what the rows of the log say; not a number where none says anything."""
    known = [v for v in column[row.first : row.last + 1] if not math.isnan(v)]
    return math.fsum(known) / len(known) if known else _NAN


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _rate_events(log: Log, rows: Sequence[_Row]) -> list[Event]:
    """What the log says of its own speed, one event for each row of the series and rate."""
    events = []
    for index, row in enumerate(rows):
        for name, column in log.rates.items():
            value = _mean(column, row)
            if value > 0:
                fields = {"name": name, "per_s": value, "steps": name in log.step_rates}
                events.append(Event(RATE, row.end_s, index, None, fields))
    return events
