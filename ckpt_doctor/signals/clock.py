"""Keeps the moments at which the parts of a step begin and end.

What is run within a step to watch it is slow, since the model has filled the caches. So of a part's start or
end no more is kept than the moment, in a list for its kind (facts.moments); hooks that run in every step put
their moments there themselves, since a call takes longer than that. The lists are written down as they are:
whoever reads the recording makes steps of them (readers.moments), and counts what happened in each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING

from ckpt_doctor.facts.moments import END, FED, KINDS, Shape

if TYPE_CHECKING:
    from ckpt_doctor.signals.contract import Digest

Fed = tuple[Sequence[Shape], "Digest | None"]
"""What a batch brings: the shapes of its tensors, and what identifies it."""


class PartClock:
    """The moments of the thread that trains; a part that starts inside another interrupts it."""

    __slots__ = ("_moments_ns", "fed", "opened")

    def __init__(self) -> None:
        self._moments_ns: tuple[list[int], ...] = tuple([] for _ in range(KINDS))
        """When what happened, since that was last taken: by kind."""
        self.fed: list[Fed] = []
        """What each batch brought, one for each ``FED``; always the same list."""
        self.opened: list[int] = []
        """Parts that run or are interrupted, the innermost last; always the same list.

        Without those that nobody asks for (``inside``) and whose hooks do not tell of them.
        """

    def restart(self) -> None:
        """Forget everything: another first step begins."""
        for moments_ns in self._moments_ns:
            moments_ns.clear()
        self.fed.clear()
        self.opened.clear()

    def marker(self, what: int) -> Callable[[int], None]:
        """What is to be called with the moment (``time.perf_counter_ns``) at which something happens.

        Args:
            what: A kind of facts.moments.
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

    def take(self) -> tuple[list[list[int]], list[Fed]]:
        """Hand over the moments since the last time, in nanoseconds by kind, and what the batches brought."""
        taken = []
        for moments_ns in self._moments_ns:
            known_ns = moments_ns[:]
            # A collection may have added more in the meantime.
            del moments_ns[: len(known_ns)]
            taken.append(known_ns)
        fed = self.fed[: len(taken[FED])]
        del self.fed[: len(fed)]
        return taken, fed
