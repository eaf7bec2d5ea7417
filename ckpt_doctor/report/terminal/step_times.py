"""The step times of both runs as two rows of bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.report import series
from ckpt_doctor.report.terminal.screen import Column, Screen

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison

_LEVELS = "▁▂▃▄▅▆▇█"
_GAPS = 10
"""Columns of the indent, and of what stands between those of the table."""


def write_step_times(screen: Screen, comparison: Comparison) -> None:
    """Write a row of bars for each run, both to one scale; nothing where no steps are known.

    A bar is the longest step of its stretch, so that a rare stall shows. The scale ends at the 99th
    percentile of both runs: one very long step would flatten all others.
    """
    arms = {
        "before": series.compared_times_s(comparison.before),
        "after": series.compared_times_s(comparison.after),
    }
    if not all(arms.values()):
        return
    top_s = series.usual_top([step_s for times in arms.values() for step_s in times])
    words = {
        arm: (f"median {units.seconds(median(times))}", f"longest {units.seconds(max(times))}")
        for arm, times in arms.items()
    }
    beside = max(map(len, arms)) + sum(max(map(len, column)) for column in zip(*words.values(), strict=True))
    columns = max(10, screen.width - beside - _GAPS)
    rows = [(arm, sparkline(times, columns, top_s), *words[arm]) for arm, times in arms.items()]
    screen.blank()
    screen.line(("Step times", "bold"), "  (longest of each stretch)")
    screen.table([Column("")] * 2 + [Column("", right=True)] * 2, rows, indent=2, headings=False)


def sparkline(values: Sequence[float], columns: int, top: float) -> str:
    """One character for each value, or for the largest of a stretch where there are more than columns.

    Args:
        values: What is shown, from 0 on.
        columns: The most characters.
        top: The value that fills a character; larger ones fill it too.
    """
    count = min(columns, len(values))
    bounds = [number * len(values) // count for number in range(count + 1)] if count else [0]
    peaks = (max(values[a:b]) for a, b in pairwise(bounds))
    return "".join(_LEVELS[_level(peak / top if top > 0 else 0.0)] for peak in peaks)


def _level(share: float) -> int:
    return min(len(_LEVELS) - 1, max(0, math.ceil(share * len(_LEVELS)) - 1))
