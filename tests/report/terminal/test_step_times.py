"""Step times as rows of bars, at any width, with and without colour."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ckpt_doctor.report.terminal.step_times import sparkline
from ckpt_doctor.report.text import render
from tests.report.sample import measured_report, probe_report


def rows(text: str) -> dict[str, str]:
    """The bars of each run."""
    return dict(re.findall(r"^  (before|after) +([▁▂▃▄▅▆▇█]+)  +median", text, re.MULTILINE))


def test_levels() -> None:
    """The scale begins at zero, what is longer than its end fills a bar, and a short row stays short."""
    assert sparkline([0.0, 1.0, 4.0, 8.0, 99.0], 80, 8.0) == "▁▁▄██"
    assert sparkline([], 80, 8.0) == ""
    assert sparkline([0.0, 0.0], 80, 0.0) == "▁▁"


def test_a_stall_shows_however_many_steps_there_are() -> None:
    """A bar is the longest step of its stretch."""
    times = [1.0] * 10_000
    times[5_000] = 8.0
    assert sparkline(times, 40, 8.0).count("█") == 1


@given(st.lists(st.floats(0, 1e3), max_size=300), st.integers(1, 120))
def test_any_values_fit(values: list[float], columns: int) -> None:
    """Never more characters than columns or values."""
    assert len(sparkline(values, columns, 10.0)) == min(columns, len(values))


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_both_runs_to_one_scale(width: int) -> None:
    """The slower run's bars are higher, both rows are equally long, and no line is too wide."""
    text = render(measured_report(), width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    if width >= 80:
        before, after = rows(text)["before"], rows(text)["after"]
        assert max(before) < min(after)
        assert abs(len(before) - len(after)) <= 1
        assert len(before) >= width // 3


def test_the_words_beside_tell_the_numbers() -> None:
    """Who sees no bars reads the median and the longest step of both runs."""
    text = render(measured_report())
    assert re.search(r"before .* median 10\.\d ms +longest 1\d\.\d ms", text)
    assert re.search(r"after .* median 1[78]\.\d ms", text)


def test_no_steps_no_bars() -> None:
    """Where the steps are not in the report nothing is drawn."""
    assert "Step times" not in render(probe_report())


def test_wide_terminals_get_longer_bars() -> None:
    """The budget's bars use what a terminal has beyond 80 columns."""
    assert "█" * 40 not in render(probe_report(), width=80)
    assert "█" * 40 in render(probe_report(), width=200)
