"""The steps of both runs as a table, one row a step, for spreadsheets and data frames.

Format: RFC 4180 with a heading. ``relative_step`` counts from the save or the resume, ``compared`` is 1
within the compared window. Seconds are seconds; a cell is empty where something was not measured.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckpt_doctor.facts.run import PARTS
from ckpt_doctor.report.terminal.harmless import harmless

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Window
    from ckpt_doctor.facts.report import Report
    from ckpt_doctor.facts.run import RankRecord

SUFFIXES = (".csv",)

_PLACE = ("arm", "rank", "step", "relative_step", "compared", "start_s", "step_s", "observer_s")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""

Cell = str | int | float | None


def render(report: Report) -> str:
    """The steps of all processes of both runs; the heading alone where no runs were compared."""
    comparison = report.comparison
    windows = {"before": comparison.before, "after": comparison.after} if comparison is not None else {}
    counters = sorted(
        {name for w in windows.values() for rank in w.run.ranks for name in rank.steps.counters}
    )
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*_PLACE, *(f"{part}_s" for part in PARTS), *(_plain(name) for name in counters)])
    for arm, window in windows.items():
        for rank in window.run.ranks:
            table.writerows(_rows(arm, window, rank, counters))
    return text.getvalue()


def _rows(arm: str, window: Window, rank: RankRecord, counters: list[str]) -> Iterator[list[Cell]]:
    steps = rank.steps
    own = rank is window.rank
    origin = window.origin if own else window.run.meta.origin_step or 0
    for i in range(len(steps)):
        row: list[Cell] = [arm, rank.rank, i, i - origin, int(own and window.first <= i < window.last)]
        row += [steps.t_start_s[i], steps.step_s(i), steps.observer_s[i]]
        row += [steps.parts[part][i] if part in steps.parts else None for part in PARTS]
        row += [steps.counters[name][i] if name in steps.counters else None for name in counters]
        yield row


def _plain(name: str) -> str:
    """A name from a recording, as text also in a spreadsheet."""
    text = harmless(name)
    return f"'{text}" if text.startswith(_FORMULA) else text
