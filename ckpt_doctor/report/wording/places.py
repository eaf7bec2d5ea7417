"""The line of the user's source at which a finding is shown, also where its rule knew none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from ckpt_doctor.facts.report import Finding, Location, Report, Side

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison

_LOOP = "loop"
_DATA = ("loader", "worker_start")
_STATE = ("save", "load")
"""Signals whose events name the user's line that led to them."""


def source_line(finding: Finding, report: Report) -> Location | None:
    """Where to show a finding: its own line, or the call that it is about, or the training loop.

    The call is the DataLoader's for the data side and the save's for what a checkpoint lacks. Where no
    line is known it is the first one of the script, and None where there is no script either.
    """
    if finding.location is not None:
        return finding.location
    comparison = report.comparison
    if comparison is None:
        return None
    calls = _STATE if finding.checkpoint is not None else _DATA if finding.side is Side.DATA else ()
    lines = (line for signal in (*calls, _LOOP) for line in _lines(comparison, signal))
    return next(lines, None) or _script(comparison)


def _lines(comparison: Comparison, signal: str) -> Iterator[Location]:
    for window in (comparison.after, comparison.before):
        for event in window.rank.events_of(signal):
            file, line = event.fields.get("file"), event.fields.get("line")
            if isinstance(file, str) and isinstance(line, int):
                yield Location(file, line)


def _script(comparison: Comparison) -> Location | None:
    meta = comparison.after.run.meta
    scripts = (word for word in meta.command if word.endswith(".py"))
    return next((Location(str(PurePath(meta.cwd, script)), 1) for script in scripts), None)
