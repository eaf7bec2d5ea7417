"""Exclusive times of the parts of a step: at every moment exactly one part is running.

What is run within a step to watch it is slow, since the model has filled the caches. So a part's start or end
is one number on a tape, which is read later, for many steps at once; and the hooks that run in every step put
their marks there themselves, since a call takes longer than the mark.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns

from ckpt_doctor.facts.run import PARTS

DATA_WAIT, COMPILE, FORWARD, BACKWARD, OPTIMIZER, GC, SAVING, REST = range(len(PARTS))
OBSERVER = len(PARTS)
"""The agent's own work within a step: kept apart, and in no part of the step."""

SHIFT = 5
"""A mark is a moment (``time.perf_counter_ns``) moved up by so many bits, and below it what happened: a part
began, the innermost one ended (``END``), or it did and another runs from now on (``INTO``, with that one)."""
END, _TAKE, _START = range(OBSERVER + 1, OBSERVER + 4)
INTO = 16

LONG = 1 << 16
"""Marks from which on the tape is read within a step: one step may go through an epoch."""

_MASK = (1 << SHIFT) - 1

Lap = list[float]
"""Seconds of one step by part (PARTS, then OBSERVER); empty until the tape has been read."""


def _moment_ns(mark: int) -> int:
    return mark >> SHIFT


class PartClock:
    """Tells the time of each part; a part that starts inside another interrupts it."""

    __slots__ = ("_base", "_laps", "_mark_ns", "_running", "_totals_ns", "opened", "tape")

    def __init__(self) -> None:
        self.tape: list[int] = []
        """The marks since it was last read; always the same list."""
        self.opened: list[int] = []
        """Parts that run or are interrupted, the innermost last; always the same list."""
        self.restart(perf_counter_ns())

    def restart(self, now_ns: int) -> None:
        """Begin anew, in a first step that starts at ``now_ns``."""
        self.tape.clear()
        self.opened.clear()
        self._laps: deque[Lap] = deque()
        """Those of steps that have ended, and are still on the tape."""
        self._running: list[int] = []
        """What was open where the tape has been read to."""
        self._base = REST
        """What ran there where no part was open."""
        self._totals_ns = [0] * (len(PARTS) + 1)
        self._mark_ns = now_ns

    def push(self, part: int) -> None:
        """Start a part inside whatever is running."""
        self.opened.append(part)
        self.tape.append(perf_counter_ns() << SHIFT | part)

    def pop(self) -> None:
        """End the innermost part; what it interrupted goes on."""
        self.tape.append(perf_counter_ns() << SHIFT | END)
        if self.opened:
            self.opened.pop()

    def pop_into(self, part: int) -> None:
        """End the innermost part; outside all parts, ``part`` is running from now on."""
        self.tape.append(perf_counter_ns() << SHIFT | INTO | part)
        if self.opened:
            self.opened.pop()

    def inside(self, part: int) -> bool:
        """Whether a part has been started and not ended, interrupted or not."""
        return part in self.opened

    def take(self, now_ns: int) -> Lap:
        """End the step at ``now_ns``; its time is filled in when the tape is read."""
        lap: Lap = []
        self._laps.append(lap)
        self.tape.append(now_ns << SHIFT | _TAKE)
        return lap

    def start(self, now_ns: int) -> None:
        """Start a step; the time since ``take`` belongs to no step."""
        self.tape.append(now_ns << SHIFT | _START)

    def read(self) -> None:
        """Fill in the laps that are on the tape, and begin a new one."""
        marks = self.tape[:]
        del self.tape[: len(marks)]
        # A garbage collection between a look at the clock and its mark has marks of its own, before that one.
        marks.sort(key=_moment_ns)
        running = self._running
        for mark in marks:
            now_ns, what = mark >> SHIFT, mark & _MASK
            if now_ns > self._mark_ns:
                self._totals_ns[running[-1] if running else self._base] += now_ns - self._mark_ns
                self._mark_ns = now_ns
            if what <= OBSERVER:
                running.append(what)
            elif what == _TAKE:
                self._laps.popleft().extend(total_ns * 1e-9 for total_ns in self._totals_ns)
            elif what == _START:
                self._totals_ns = [0] * (len(PARTS) + 1)
                self._mark_ns = now_ns
                self._base = REST
            else:
                if what != END:
                    self._base = what - INTO
                if running:
                    running.pop()
