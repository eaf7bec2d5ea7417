"""The table of steps."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

from ckpt_doctor.facts.report import Report
from ckpt_doctor.report.csv import render
from tests.builders import CONTROL_STEPS, RESUMED_STEPS, SAVED_AT
from tests.report.sample import inspect_report, measured_report


def rows(report: Report) -> list[dict[str, str]]:
    """The table as a spreadsheet reads it."""
    return list(csv.DictReader(io.StringIO(render(report))))


def test_one_row_a_step() -> None:
    """Every step of both runs is there, and its parts add up to its time."""
    table = rows(measured_report())
    assert len(table) == CONTROL_STEPS + RESUMED_STEPS
    assert [row["arm"] for row in table] == ["before"] * CONTROL_STEPS + ["after"] * RESUMED_STEPS
    first = table[0]
    assert (first["step"], first["relative_step"]) == ("0", str(-SAVED_AT))
    for row in table:
        parts = math.fsum(float(row[name]) for name in row if name in ("data_wait_s", "forward_s"))
        parts += math.fsum(float(row[f"{name}_s"]) for name in ("backward", "optimizer", "rest"))
        assert math.isclose(parts, float(row["step_s"]), rel_tol=1e-6)


def test_the_compared_steps_are_marked() -> None:
    """The window's steps carry a 1."""
    report = measured_report()
    assert report.comparison is not None
    marked = [row for row in rows(report) if row["compared"] == "1"]
    assert len(marked) == report.comparison.before.steps + report.comparison.after.steps


def test_what_was_not_measured_is_empty() -> None:
    """A part or counter without a value is an empty cell, not a zero."""
    table = rows(measured_report())
    assert {row["compile_s"] for row in table} == {""}
    assert table[0]["batches"] == "1.0"


def test_an_inspection_has_no_steps() -> None:
    """Without runs there is the heading alone."""
    assert rows(inspect_report()) == []
    assert render(inspect_report()).startswith("arm,rank,step,")


def test_no_formulas() -> None:
    """A counter's name from a recording cannot begin a formula."""
    report = measured_report()
    assert report.comparison is not None
    after = report.comparison.after
    steps = replace(after.rank.steps, counters={"=1+1": (0.0,) * RESUMED_STEPS})
    rank = replace(after.rank, steps=steps)
    after = replace(after, rank=rank, run=replace(after.run, ranks=(rank,)))
    text = render(replace(report, comparison=replace(report.comparison, after=after)))
    assert ",'=1+1" in text.partition("\n")[0]
