"""Numbers as people read them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor import units

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value_s", "text"),
    [
        (0.0, "0 s"),
        (0.0334, "33.4 ms"),
        (999.6e-6, "1.00 ms"),
        (1.2e-6, "1.20 µs"),
        (1.5, "1.50 s"),
        (119.6, "120 s"),
        (125.0, "2 min 05 s"),
        (7320.0, "2 h 02 min"),
        (-0.003, "-3.00 ms"),
        (math.inf, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_seconds(value_s: float, text: str) -> None:
    """Durations are told in the unit in which they have one to three digits before the point."""
    assert units.seconds(value_s) == text


@pytest.mark.parametrize(
    ("value_bytes", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (999_960, "1.00 MB"),
        (12.4e6, "12.4 MB"),
        (-2e9, "-2.00 GB"),
        (math.inf, "unknown"),
    ],
)
def test_size(value_bytes: float, text: str) -> None:
    """Sizes use decimal prefixes, and single bytes have no fraction."""
    assert units.size(value_bytes) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0177, "s/step", "17.7 ms/step"),
        (12.4e6, "bytes/step", "12.4 MB/step"),
        (1.53, "ratio", "1.53×"),
        (3, "workers", "3 workers"),
        (3, None, "3"),
        (1_234_567, None, "1 234 567"),
        (0.01234, "1/step", "0.0123 1/step"),
    ],
)
def test_quantity(value: float, unit: str | None, text: str) -> None:
    """SI units are formatted, also per step, and other units stand behind the number."""
    assert units.quantity(value, unit) == text


def test_signs() -> None:
    """A difference says which way it goes, and no difference has no sign."""
    assert units.signed_seconds(0.0177) == "+17.7 ms"
    assert units.signed_seconds(-0.0177) == "-17.7 ms"
    assert units.signed_seconds(0.0) == "0 s"
    assert units.signed_size(1000) == "+1.00 kB"


def test_a_range_has_one_unit() -> None:
    """Both ends of an interval are told in the unit of the larger one, each with its sign."""
    assert units.seconds_range(-40.7e-6, 0.0098) == "-0.0407 to +9.80 ms"
    assert units.seconds_range(0.0, 0.002) == "0 to +2.00 ms"
    assert units.seconds_range(0.0, 0.0) == "0 to 0 ns"
    assert units.seconds_range(-math.inf, 1.0) == "unknown"


def test_percent_and_ratio() -> None:
    """Small parts keep a digit behind the point, ratios have two."""
    assert [units.percent(value) for value in (0, 0.036, 0.96, 1)] == ["0 %", "3.6 %", "96 %", "100 %"]
    assert units.ratio(1.5) == "1.50×"
    assert units.per_step(0.5) == "500 ms/step"


@given(FINITE)
def test_nothing_reads_as_zero_but_zero(value: float) -> None:
    """Whatever is not zero shows a digit that is not zero."""
    for text in (units.seconds(value), units.size(value), units.number(value)):
        assert bool(re.search("[1-9]", text)) == (value != 0)


@given(st.floats(min_value=1e-9, max_value=100))
def test_seconds_are_right_to_half_a_per_cent(value_s: float) -> None:
    """The text, read back, is the value to within rounding to three digits."""
    number, unit = units.seconds(value_s).split()
    factor = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * factor == pytest.approx(value_s, rel=0.0051)
