"""Makes steps of the moments that an agent has written down: exclusive times of their parts, and counts.

At every moment exactly one part is running: the innermost of those that have begun and not ended, or, outside
all of them, what ran last. What happens in every step is not counted as it happens: it is told from here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from ckpt_doctor.facts.moments import (
    BACKWARD,
    END,
    FED,
    FORWARD,
    GC,
    MAX_DIGESTS,
    OBSERVER,
    OPTIMIZER,
    OVER,
    REST,
    START,
    TAKE,
    UPDATE,
)
from ckpt_doctor.facts.run import PARTS

_COUNTED = {BACKWARD: "backwards", GC: "gc_pauses"}
"""Parts of which it is counted how often they begin."""


class Lap(NamedTuple):
    """A step, as told from the moments within it."""

    start_ns: int
    end_ns: int
    parts_ns: list[int]
    """By part (PARTS, then OBSERVER)."""
    counted: dict[str, float]
    """What was counted, where it is not zero."""
    digests: list[str]
    """What identifies its batches: the last ones, in order."""


class Laps:
    """Tells the steps of one process."""

    def __init__(self, start_ns: int) -> None:
        """Begin, in a first step that starts at ``start_ns``."""
        self.observed_ns: list[int] = []
        """What the observer took within each step, and after it."""
        self._fed: deque[Sequence[Any]] = deque()
        self._running: list[int] = []
        self._base = REST
        """What runs where no part has begun."""
        self._start_ns = self._mark_ns = start_ns
        self._taken_ns: int | None = None
        """When the last step ended, until it is known what the observer took after it."""
        self._seen_ns = 0
        """What the observer took within that step."""
        self._forget()

    def read(self, moments_ns: Sequence[Sequence[int]], fed: Sequence[Sequence[Any]]) -> Iterator[Lap]:
        """The steps that have ended by these moments, which go on from the last ones.

        Args:
            moments_ns: When what happened, by kind (facts.moments).
            fed: For each batch, in order: the shapes of its tensors, and what identifies it or None.
        """
        self._fed.extend(fed)
        running = self._running
        for now_ns, what in _in_order(moments_ns):
            if now_ns > self._mark_ns:
                self._parts_ns[running[-1] if running else self._base] += now_ns - self._mark_ns
                self._mark_ns = now_ns
            if what <= OBSERVER:
                running.append(what)
                if what in _COUNTED:
                    self._count(_COUNTED[what])
            elif what == FED:
                self._eat(*self._fed.popleft())
                self._base = FORWARD
                running[-1:] = [OBSERVER]
            elif what in (END, OVER):
                self._base = REST if what == OVER else self._base
                del running[-1:]
            elif what in (UPDATE, TAKE):
                self._count("optimizer_steps")
                if running[-1:] == [OPTIMIZER]:
                    running.pop()
                if what == TAKE:
                    yield self._lap(now_ns)
            else:
                self._observed(now_ns)
                if what == START:
                    self._begin(now_ns)

    def _forget(self) -> None:
        self._counted: dict[str, float] = {}
        self._digests: list[str] = []
        self._parts_ns = [0] * (len(PARTS) + 1)

    def _count(self, name: str, amount: float = 1) -> None:
        self._counted[name] = self._counted.get(name, 0) + amount

    def _eat(self, shapes: Sequence[Sequence[Any]], digest: str | None) -> None:
        # A ragged tensor has a dimension that is no number.
        even = [shape for shape in shapes if all(isinstance(length, int) for length in shape)]
        lengths = [shape[0] for shape in shapes if shape and isinstance(shape[0], int)]
        self._count("batches")
        self._count("elements", sum(map(prod, even)))
        self._count("samples", max(lengths, default=0))
        if digest is not None:
            self._digests.append(digest)
            del self._digests[:-MAX_DIGESTS]

    def _lap(self, end_ns: int) -> Lap:
        lap = Lap(self._start_ns, end_ns, self._parts_ns, self._counted, self._digests)
        self._taken_ns, self._seen_ns = end_ns, self._parts_ns[OBSERVER]
        self._forget()
        return lap

    def _observed(self, now_ns: int) -> None:
        """Until now the observer was at work since the last step's end, if it has not been told before."""
        if self._taken_ns is not None:
            self.observed_ns.append(now_ns - self._taken_ns + self._seen_ns)
            self._taken_ns = None

    def _begin(self, now_ns: int) -> None:
        self._parts_ns = [0] * (len(PARTS) + 1)
        self._start_ns = self._mark_ns = now_ns
        self._base = REST


def _in_order(moments_ns: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """All moments with their kinds; where they are equal, what begins comes before what ends."""
    return sorted((moment_ns, what) for what, known_ns in enumerate(moments_ns) for moment_ns in known_ns)
