"""Exclusive times of the parts of a step: at every moment exactly one part is running."""

from __future__ import annotations

from time import perf_counter

from ckpt_doctor.facts.run import PARTS

DATA_WAIT, COMPILE, FORWARD, BACKWARD, OPTIMIZER, GC, SAVING, REST = range(len(PARTS))
OBSERVER = len(PARTS)
"""The agent's own work within a step: kept apart, and in no part of the step."""


class PartClock:
    """Adds up the seconds of each part; a part that starts inside another interrupts it."""

    __slots__ = ("_base", "_mark", "_outer", "_running", "_totals")

    def __init__(self) -> None:
        self._totals = [0.0] * (len(PARTS) + 1)
        self._outer: list[int] = []
        self._base = REST
        self._running = REST
        self._mark = perf_counter()

    def push(self, part: int) -> None:
        """Start a part inside whatever is running."""
        now = perf_counter()
        self._totals[self._running] += now - self._mark
        self._mark = now
        self._outer.append(self._running)
        self._running = part

    def pop(self) -> None:
        """End the innermost part; what it interrupted goes on."""
        now = perf_counter()
        self._totals[self._running] += now - self._mark
        self._mark = now
        if self._outer:
            self._running = self._outer.pop()
        if not self._outer:
            self._running = self._base

    def pop_into(self, part: int) -> None:
        """End the innermost part; outside all parts, ``part`` is running from now on."""
        self._base = part
        self.pop()

    @property
    def depth(self) -> int:
        """How many parts are open."""
        return len(self._outer)

    def inside(self, part: int) -> bool:
        """Whether a part has been started and not ended, interrupted or not."""
        return bool(self._outer) and (part == self._running or part in self._outer[1:])

    def unwind(self, depth: int) -> None:
        """End parts until ``depth`` are open: an exception may have skipped their ends."""
        while len(self._outer) > depth:
            self.pop()

    def take(self, now: float) -> list[float]:
        """Seconds by part (PARTS, then OBSERVER) since the clock was last started, and stop it."""
        totals = self._totals
        totals[self._running] += now - self._mark
        self._mark = now
        self._totals = [0.0] * (len(PARTS) + 1)
        return totals

    def start(self, now: float) -> None:
        """Start a step at ``now``; the time since ``take`` belongs to no step."""
        # A garbage collection may have run in between.
        self._totals = [0.0] * (len(PARTS) + 1)
        self._mark = now
        self._base = REST
        if not self._outer:
            self._running = REST
