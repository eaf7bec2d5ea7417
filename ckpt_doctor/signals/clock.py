"""Exclusive times of the parts of a step: at every moment exactly one part is running.

What is run within a step to watch it is slow, since the model has filled the caches. So of a part's start or
end no more is kept than the moment, in a list for its kind; the lists are read later, for many steps at once.
Hooks that run in every step put their moments there themselves, since a call takes longer than that. What
happens in every step is not counted as it happens either: it is told from the moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from time import perf_counter_ns
from typing import NamedTuple

from ckpt_doctor.facts.run import PARTS
from ckpt_doctor.signals.contract import Digest

DATA_WAIT, COMPILE, FORWARD, BACKWARD, OPTIMIZER, GC, SAVING, REST = range(len(PARTS))
OBSERVER = len(PARTS)
"""The agent's own work within a step: kept apart, and in no part of the step."""

END = OBSERVER + 1
"""The innermost part ended."""
FED = END + 1
"""The innermost part ended with a batch, which ``PartClock.fed`` tells of; forward begins, and the observer
looks at the batch."""
UPDATE = FED + 1
"""An optimizer has done, or skipped, an update; if that was the innermost part, it ended."""
TAKE = UPDATE + 1
"""It has, and the step ended there."""
HELD = TAKE + 1
"""The observer has done what it does after a step; what follows is no work of its own."""
START = HELD + 1
"""The next step begins; what lies between is in no step."""
OVER = START + 1
"""The innermost part ended, and what follows outside all parts is the rest."""

MAX_DIGESTS = 16
"""Digests kept for one step: a replay of an epoch draws thousands of batches in one."""

MAX_OBSERVED = 2048
"""Steps of which it is kept what the observer took: a median needs no more."""

_SHIFT = 4
"""A mark is a moment moved up by so many bits, and below it what happened."""
_MASK = (1 << _SHIFT) - 1


class Lap(NamedTuple):
    """A step, as told from the moments within it."""

    start_ns: int
    end_ns: int
    seconds: list[float]
    """By part (PARTS, then OBSERVER)."""
    counted: dict[str, float]
    """What was counted, where it is not zero."""
    digests: list[Digest]
    """What identifies its batches: the last ones, in order."""


Shape = Sequence[int]

Fed = tuple[Sequence[Shape], "Digest | None"]
"""What a batch brings: the shapes of its tensors, and what identifies it."""


class PartClock:
    """Tells the time of each part; a part that starts inside another interrupts it."""

    __slots__ = (
        *("_base", "_counted", "_digests", "_mark_ns", "_moments_ns", "_running", "_seen_ns"),
        *("_start_ns", "_taken_ns", "_totals_ns", "fed", "laps", "observed_ns", "opened"),
    )

    def __init__(self) -> None:
        self._moments_ns: tuple[list[int], ...] = tuple([] for _ in range(OVER + 1))
        """When what happened, since that was last read: by part that began, and by the kinds after those."""
        self.fed: list[Fed] = []
        """What each batch brought, one for each ``FED``; always the same list."""
        self.opened: list[int] = []
        """Parts that run or are interrupted, the innermost last; always the same list.

        Without those that nobody asks for (``inside``) and whose hooks do not tell of them.
        """
        self.restart(perf_counter_ns())

    def restart(self, now_ns: int) -> None:
        """Begin anew, in a first step that starts at ``now_ns``."""
        for moments_ns in self._moments_ns:
            moments_ns.clear()
        self.fed.clear()
        self.opened.clear()
        self.laps: list[Lap] = []
        """Steps that have been read, and not been fetched."""
        self.observed_ns: list[int] = []
        """What the observer took within each of the first steps, and after it."""
        self._running: list[int] = []
        """What was open when it was last read."""
        self._base = REST
        """What ran there where no part was open."""
        self._start_ns = self._mark_ns = now_ns
        self._taken_ns: int | None = None
        """When the last step ended, until it is known what the observer took after it."""
        self._seen_ns = 0
        """What the observer took within that step."""
        self._forget()

    def _forget(self) -> None:
        self._counted: dict[str, float] = {}
        self._digests: list[Digest] = []
        self._totals_ns = [0] * (len(PARTS) + 1)

    def marker(self, what: int) -> Callable[[int], None]:
        """What is to be called with the moment (``time.perf_counter_ns``) at which something happens.

        Args:
            what: The part that begins then, or one of ``END`` to ``OVER``.
        """
        return self._moments_ns[what].append

    def push(self, part: int) -> None:
        """Start a part inside whatever is running."""
        self.opened.append(part)
        self._moments_ns[part].append(perf_counter_ns())

    def pop(self) -> None:
        """End the innermost part; what it interrupted goes on."""
        self._moments_ns[END].append(perf_counter_ns())
        if self.opened:
            self.opened.pop()

    def inside(self, part: int) -> bool:
        """Whether a part has been started and not ended, interrupted or not."""
        return part in self.opened

    def read(self) -> None:
        """Make laps of the moments so far."""
        running, fed = self._running, 0
        for mark in self._marks():
            now_ns, what = mark >> _SHIFT, mark & _MASK
            if now_ns > self._mark_ns:
                self._totals_ns[running[-1] if running else self._base] += now_ns - self._mark_ns
                self._mark_ns = now_ns
            if what <= OBSERVER:
                running.append(what)
                if what == BACKWARD:
                    self._count("backwards")
                elif what == GC:
                    self._count("gc_pauses")
            elif what == END:
                if running:
                    running.pop()
            elif what == FED:
                self._eat(self.fed[fed])
                fed += 1
                self._base = FORWARD
                running[-1:] = [OBSERVER]
            elif what == OVER:
                self._base = REST
                if running:
                    running.pop()
            else:
                self._between_steps(now_ns, what)
        del self.fed[:fed]

    def _marks(self) -> list[int]:
        """All moments in their order; where they are equal, what begins comes before what ends."""
        marks = []
        for what, moments_ns in enumerate(self._moments_ns):
            known_ns = moments_ns[:]
            del moments_ns[: len(known_ns)]
            marks += [moment_ns << _SHIFT | what for moment_ns in known_ns]
        marks.sort()
        return marks

    def _count(self, name: str, amount: float = 1) -> None:
        self._counted[name] = self._counted.get(name, 0) + amount

    def _eat(self, batch: Fed) -> None:
        self._count("batches")
        shapes, digest = batch
        self._count("elements", sum(map(prod, shapes)))
        self._count("samples", max((shape[0] for shape in shapes if shape), default=0))
        if digest is not None:
            self._digests.append(digest)
            if len(self._digests) > MAX_DIGESTS:
                del self._digests[0]

    def _between_steps(self, now_ns: int, what: int) -> None:
        if what in (UPDATE, TAKE):
            self._count("optimizer_steps")
            if self._running[-1:] == [OPTIMIZER]:
                self._running.pop()
        elif self._taken_ns is not None:
            if len(self.observed_ns) < MAX_OBSERVED:
                self.observed_ns.append(now_ns - self._taken_ns + self._seen_ns)
            self._taken_ns = None
        if what == TAKE:
            seconds = [total_ns * 1e-9 for total_ns in self._totals_ns]
            self.laps.append(Lap(self._start_ns, now_ns, seconds, self._counted, self._digests))
            self._taken_ns, self._seen_ns = now_ns, self._totals_ns[OBSERVER]
            self._forget()
        elif what == START:
            self._totals_ns = [0] * (len(PARTS) + 1)
            self._start_ns = self._mark_ns = now_ns
            self._base = REST
