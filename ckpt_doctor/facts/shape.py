"""How a slowdown lies in time."""

from __future__ import annotations

from enum import Enum


class Shape(str, Enum):
    """How a slowdown runs over the steps after the resume."""

    NONE = "none"
    ONE_TIME = "one-time"
    DECAYING = "decaying"
    STEADY = "steady"
    PERIODIC = "periodic"
    GROWING = "growing"
