r"""A plain log: whatever a script prints, through the user's own regular expression.

The expression's named groups are the fields of ``readers/columns.py``, as
``step (?P<step>\d+).*?(?P<step_s>[\d.]+) s/it``. It is searched for in every line; lines without it are
passed over, and so are the states of a progress bar that repeat a step.
"""

from __future__ import annotations

import re

from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.columns import FIELDS, Clock, number
from ckpt_doctor.readers.evidence import Evidence, Hints, TraceFile
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.step_log import Log, runs_of

NAME = "log"
ORDER = 40
IN_FOLDERS = False

_SEARCHED_CHARACTERS = 4096
"""So much of each line is searched."""


def claims(file: TraceFile, hints: Hints) -> bool:
    """Any text, once the user has said how to read it."""
    return hints.log_pattern is not None and bool(file.head_text.strip())


def read(evidence: Evidence) -> list[RunRecord]:
    """See ``traces``.

    Raises:
        Malformed: No line matches, or the groups tell no time.
        UsageError: The pattern is no regular expression, or has no known group.
    """
    (file,) = evidence.files
    pattern = compiled(evidence.hints.log_pattern or "")
    log, clock = Log(), Clock()
    for line in file.lines():
        match = pattern.search(line[:_SEARCHED_CHARACTERS])
        if match is not None:
            log.add(_values(match, clock), {})
    if not log.length:
        raise Malformed("no line of it matches the pattern", "try the pattern on a line of the log")
    return runs_of(log, evidence.path, NAME)


def compiled(text: str) -> re.Pattern[str]:
    """The user's expression.

    Raises:
        UsageError: It is none, or a group is no field.
    """
    fields = ", ".join(FIELDS)
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"--log-pattern: this is no regular expression: {error}") from error
    unknown = pattern.groupindex.keys() - FIELDS.keys()
    if unknown or not pattern.groupindex:
        what = f"{min(unknown)} is no field" if unknown else "it has no named group, as (?P<step_s>[0-9.]+)"
        raise UsageError(f"--log-pattern: {what}", hint=f"The fields are {fields}.")
    return pattern


def _values(match: re.Match[str], clock: Clock) -> dict[str, float]:
    values = {}
    for group, text in match.groupdict().items():
        field = FIELDS[group]
        value = clock.read(text) if field.name == "time_s" else number(text)
        if value is not None:
            values[field.name] = value * field.factor
    return values
