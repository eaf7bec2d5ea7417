"""Numbers as people read them. Everything inside the house is SI; this is the only place that formats it.

Three significant digits, a space before the unit, decimal prefixes (1 MB = 10**6 bytes), and no
rounding of something to nothing: what is not zero never reads ``0``.
"""

from __future__ import annotations

import math

_TIMES: tuple[tuple[float, str], ...] = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES: tuple[tuple[float, str], ...] = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_MINUTES_FROM_S = 120.0
"""From here on a duration is told in minutes: below it, seconds are still easy to compare."""
_PLAIN_BELOW = 1e6
"""Larger numbers are told in powers of ten."""


def seconds(value_s: float) -> str:
    """A duration in seconds, as ``33.4 ms`` or ``2 min 05 s``."""
    if not math.isfinite(value_s):
        return "unknown"
    size = abs(value_s)
    sign = "-" if value_s < 0 else ""
    if size >= _MINUTES_FROM_S:
        return f"{sign}{_minutes(size)}"
    if size == 0:
        return "0 s"
    factor, unit = next(((f, u) for f, u in _TIMES if size >= f * 0.9995), _TIMES[-1])
    return f"{sign}{_digits(size / factor)} {unit}"


def signed_seconds(value_s: float) -> str:
    """A difference in seconds with its sign, as ``+17.7 ms``."""
    return _signed(value_s, seconds(value_s))


def seconds_range(low_s: float, high_s: float) -> str:
    """Two differences in seconds with their signs and one unit, as ``+6.32 to +9.79 ms``."""
    if not (math.isfinite(low_s) and math.isfinite(high_s)):
        return "unknown"
    largest = max(abs(low_s), abs(high_s))
    factor, unit = next(((f, u) for f, u in _TIMES if largest >= f * 0.9995), _TIMES[-1])
    low, high = (_signed(value, _digits(value / factor)) for value in (low_s, high_s))
    return f"{low} to {high} {unit}"


def per_step(value_s: float) -> str:
    """Seconds per step, as ``33.4 ms/step``."""
    return f"{seconds(value_s)}/step"


def size(value_bytes: float) -> str:
    """A number of bytes, as ``12.4 MB`` (10**6 bytes)."""
    if not math.isfinite(value_bytes):
        return "unknown"
    amount = abs(value_bytes)
    sign = "-" if value_bytes < 0 else ""
    factor, unit = next(((f, u) for f, u in _SIZES if amount >= f * 0.9995), _SIZES[-1])
    digits = number(amount) if factor == 1.0 else _digits(amount / factor)
    return f"{sign}{digits} {unit}"


def signed_size(value_bytes: float) -> str:
    """A difference in bytes with its sign, as ``+12.4 MB``."""
    return _signed(value_bytes, size(value_bytes))


def ratio(value: float) -> str:
    """A ratio, as ``1.53×``."""
    return f"{value:.2f}×" if math.isfinite(value) else "unknown"


def percent(value_ratio: float) -> str:
    """A part of a whole given as 0 to 1, as ``96 %``."""
    if not math.isfinite(value_ratio):
        return "unknown"
    value = 100.0 * value_ratio
    return f"{value:.0f} %" if abs(value) >= 10 or value == 0 else f"{value:.1f} %"


def number(value: float) -> str:
    """A plain number: whole ones in full, others with three significant digits."""
    if not math.isfinite(value):
        return "unknown"
    if abs(value) >= _PLAIN_BELOW:
        return f"{value:.3g}" if value != int(value) else f"{int(value):,}".replace(",", " ")
    return str(int(value)) if value == int(value) else _digits(value)


def quantity(value: float, unit: str | None) -> str:
    """A number in one of the units that facts use.

    Args:
        value: The number.
        unit: ``s``, ``bytes`` or ``ratio``, also with ``/step`` behind it; any other unit is
            written behind the number as it is.
    """
    base, slash, rest = (unit or "").partition("/")
    known = {"s": seconds, "bytes": size, "ratio": ratio}.get(base)
    if known is None:
        return f"{number(value)} {unit}" if unit else number(value)
    return f"{known(value)}{slash}{rest}"


def _minutes(value_s: float) -> str:
    whole = round(value_s)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {left:02d} s"


def _signed(value: float, text: str) -> str:
    return f"+{text}" if value > 0 else text


def _digits(value: float) -> str:
    """Three significant digits without an exponent, and never fewer than the whole part needs."""
    size_of = abs(value)
    if size_of == 0:
        return "0"
    if size_of >= 99.95:
        return f"{value:.0f}"
    if size_of >= 9.995:
        return f"{value:.1f}"
    if size_of >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3g}"
