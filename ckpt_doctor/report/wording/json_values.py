"""Values from anywhere, as JSON holds them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping


def cleaned(value: object) -> object:
    """Make plain JSON of a value: no NaN, no infinity, no type that JSON lacks."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [cleaned(item) for item in value]
    return repr(value)
