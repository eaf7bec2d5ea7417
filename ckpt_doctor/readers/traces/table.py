"""A table of steps: CSV with a header line (comma, semicolon or tab), or one JSON object a line.

Columns are known by their names (see ``readers/columns.py``); ``--column`` names what is called otherwise.
Objects within a JSON line are flattened with a slash, as ``time/step``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.columns import (
    Clock,
    Field,
    field_named,
    field_of,
    is_rate,
    is_step_rate,
    normalised,
    number,
)
from ckpt_doctor.readers.evidence import Evidence, Hints, TraceFile
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.step_log import Log, runs_of
from ckpt_doctor.readers.text import clean

NAME = "table of steps"
ORDER = 50
IN_FOLDERS = False

_DELIMITERS = ",;\t"
_MAX_COLUMNS = 4096
_SHOWN_COLUMNS = 12
_SEEN_LINES = 20
"""So many lines at the beginning are looked at; the first ones may tell of the run, and not of a step."""
_AMBIGUOUS = "time"
"""A column of this name is a clock, unless it goes back and forth: then it is the step's own time."""
_BACKWARDS_SHARE = 0.2
"""Part of the rows from which on a column goes back too often for a clock, which does where a run begins."""
_PREFERRED = "global_step"
"""Where there are several columns of step numbers: loggers count their own calls as steps, too."""


class _Column(NamedTuple):
    """What a column means."""

    name: str
    field: Field | None
    is_rate: bool
    is_preferred: bool


def claims(file: TraceFile, hints: Hints) -> bool:
    """Lines of JSON objects that name a field, or of as many cells as there are names in the first line."""
    lines = [line for line in file.head_text.splitlines()[:_SEEN_LINES] if line.strip()]
    if not lines or _object(lines[0]) is None:
        return bool(lines) and _delimiter(lines) is not None
    rows = (_object(line) or {} for line in lines)
    names = (name for row in rows for name, _ in _flat(row, ""))
    return bool(hints.columns) or any(field_of(name) is not None for name in names)


def read(evidence: Evidence) -> list[RunRecord]:
    """See ``traces``.

    Raises:
        Malformed: It is damaged, or none of its columns tells a time.
        UsageError: A field that the user names is none.
    """
    (file,) = evidence.files
    lines = (line for line in file.lines() if line.strip())
    first = list(islice(lines, 2))
    whole = chain(first, lines)
    rows = _objects(whole) if first and _object(first[0]) is not None else _cells(whole, first)
    log, names = _log(rows, {name: field_named(field) for field, name in evidence.hints.columns.items()})
    notes = () if "time" in evidence.hints.columns else _settle(log, names)
    try:
        return runs_of(log, evidence.path, NAME, notes=notes)
    except Malformed as error:
        shown = ", ".join(clean(name, 40) for name in names[:_SHOWN_COLUMNS])
        raise Malformed(
            f"{error.why}: its columns are {shown or 'none'}",
            "a step number with a time, or the time of a step is needed: "
            "name them with --column step=NAME --column time=NAME or --column step_s=NAME",
        ) from error


def _object(line: str) -> Mapping[str, object] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter of a table whose first line holds names; None where it is no table."""
    return next((delimiter for delimiter in _DELIMITERS if _is_table(lines[:2], delimiter)), None)


def _is_table(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the first line holds different names, and the second as many cells with a number among them."""
    try:
        names, *rows = ([cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return False
    named = len(set(names)) == len(names) >= 2 and all(number(name) is None for name in names)
    return named and all(
        len(row) == len(names) and any(number(cell) is not None for cell in row) for row in rows
    )


def _objects(lines: Iterable[str]) -> Iterator[Mapping[str, object]]:
    """The objects; the last line may be cut short, in a log that is being written."""
    damaged: int | None = None
    for count, line in enumerate(lines, 1):
        if damaged is not None:
            raise Malformed(f"entry {damaged:,} of it is no JSON object", "take this line out of it")
        row = _object(line)
        if row is None:
            damaged = count
        else:
            yield dict(_flat(row, ""))


def _flat(row: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in row.items():
        if isinstance(value, dict) and not prefix:
            yield from _flat(value, f"{key}/")
        else:
            yield f"{prefix}{key}", value


def _cells(lines: Iterable[str], first: Sequence[str]) -> Iterator[Mapping[str, object]]:
    reader = csv.reader(lines, delimiter=_delimiter(first) or ",")
    try:
        names = [name.strip() for name in next(reader)]
        for row in reader:
            yield dict(zip(names, row, strict=False))
    except csv.Error as error:
        raise Malformed(f"it is no valid CSV: {error} in line {reader.line_num:,}") from error


def _log(rows: Iterable[Mapping[str, object]], called: Mapping[str, Field]) -> tuple[Log, list[str]]:
    """The rows, and the names of all columns in their order."""
    log, clock = Log(), Clock()
    taken = {field.name for field in called.values()}
    columns: dict[str, _Column] = {}
    for row in rows:
        values: dict[str, float] = {}
        rates: dict[str, float] = {}
        for name, cell in row.items():
            column = columns.get(name)
            if column is None:
                if len(columns) >= _MAX_COLUMNS:
                    raise Malformed(f"it has more than {_MAX_COLUMNS:,} columns")
                column = columns[name] = _column(name, called, taken)
                if column.is_rate and is_step_rate(name):
                    log.step_rates.add(column.name)
            _take(column, cell, clock, values, rates)
        log.add(values, rates)
    return log, list(columns)


def _column(name: str, called: Mapping[str, Field], taken: Collection[str]) -> _Column:
    """What a column means: what the user says of it, else what its name says."""
    field = called.get(name)
    if field is None:
        found = field_of(name)
        field = None if found is None or found.name in taken else found
    return _Column(clean(name, 80), field, is_rate(name), normalised(name).endswith(_PREFERRED))


def _take(
    column: _Column, cell: object, clock: Clock, values: dict[str, float], rates: dict[str, float]
) -> None:
    """Put a cell where it belongs."""
    field = column.field
    if field is None and not column.is_rate:
        return
    value = clock.read(cell) if field is not None and field.name == "time_s" else number(cell)
    if value is None:
        return
    if column.is_rate:
        rates[column.name] = value
    if field is not None and (column.is_preferred or field.name not in values):
        values[field.name] = value * field.factor


def _settle(log: Log, names: Iterable[str]) -> tuple[str, ...]:
    """Decide what a column named ``time`` is; returns what has to be said about it."""
    times = log.columns.get("time_s")
    if times is None or "step_s" in log.columns or not any(normalised(n) == _AMBIGUOUS for n in names):
        return ()
    if sum(1 for a, b in pairwise(times) if b < a) < _BACKWARDS_SHARE * len(times):
        return ()
    log.columns["step_s"] = log.columns.pop("time_s")
    return ("Its column time goes back and forth, and is taken as the seconds of each step.",)
