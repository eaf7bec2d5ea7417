"""What a signal is, and what the modules in this package may ask of the agent.

A hook is one module in ``signals/hooks``: it names its signals (``SIGNALS``), the modules of the
user's process that it needs (``NEEDS``), and has ``install(recorder, module)``, called once for
each of those modules after the script has imported it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ckpt_doctor.signals.clock import PartClock

Digest = str | Callable[[], str]
"""What identifies a batch, or what works that out when it is written down: many at once are cheaper.

A word like ``i:1a2b3c4d``: of indices (i), of a batch (b), of the model's input (m).
"""


@dataclass(frozen=True)
class Signal:
    """One thing that is measured."""

    name: str
    unit: str
    """SI unit, ``count``, ``bytes`` or ``event``."""
    side: str
    """Where a change of it points: data, compute, host or work."""
    what: str
    """One sentence: what the number is."""


Read = Callable[[bool], dict[str, float] | None]
"""Reads counters at the end of a step. It is told whether the process is going to be held there, and answers
None when it is not to be asked again."""


Look = Callable[[], dict[str, float]]
"""Reads counters at the end of a step that is not to be the only one it counts for."""


class Recorder(Protocol):
    """The agent, as hooks see it.

    What runs in every step goes without calls where it can: it gives its moments to the clock's markers, and
    calls who asked for it.
    """

    clock: PartClock
    thread: int | None
    """The thread that trains (``threading.get_ident``): only its time is the step's."""
    identify: Callable[[Any], Digest | None]
    """Called with each batch whose indices are not known; answers what identifies it by what it holds."""
    at_backward: list[Callable[[], None]]
    """Called before each outermost backward pass."""
    at_optimizer: list[Callable[[Any], None]]
    """Called with each optimizer when it steps for the first time."""

    def push(self, part: int) -> None:
        """Start a part of the step (facts.moments), interrupting the running one."""

    def pop(self) -> None:
        """End the innermost part."""

    def inside(self, part: int) -> bool:
        """Whether a part has been started and not ended, interrupted or not."""

    def in_training_thread(self) -> bool:
        """Whether the caller runs in the thread that trains: only its time is the step's."""

    def count(self, name: str, amount: float = 1) -> None:
        """Add to a counter of the current step."""

    def count_from_zero(self, *names: str) -> None:
        """Have the first step tell these counters even where they are zero.

        So a recording that lacks one was made without the hook, and one that has it means zero wherever
        it says nothing.
        """

    def event(self, signal: str, duration_s: float | None = None, /, **fields: object) -> None:
        """Record that something happened."""

    def checkpoint_touched(self, signal: str, duration_s: float, **fields: object) -> None:
        """Record a checkpoint ``save`` or ``load`` at once: a probe waits for them."""

    def saved_aside(self, step: int, duration_s: float, **fields: object) -> None:
        """Record a checkpoint save that another thread has done, begun in ``step``."""

    def write_down(self) -> None:
        """Write down what has happened so far: one step may go through an epoch."""

    def running_step(self) -> int:
        """The step of this process that is under way, counted from 0."""

    def still_writing(self, written: Future[object]) -> None:
        """Record that the save goes on in the background: a probe holds nobody before it is done."""

    def about_to_write(self, path: str) -> None:
        """Announce a file that native code is going to overwrite: a probe protects the user's."""

    def fed_with(self, digest: Digest) -> None:
        """Record what identifies a batch that another thread drew, or the model's input."""

    def after_save(self, act: Callable[[], None]) -> None:
        """Have ``act`` called after each checkpoint save."""

    def update_done(self, optimizer: object) -> None:
        """Record that an optimizer has done, or skipped, an update: steps end here."""

    def at_step_end(self, read: Read) -> None:
        """Have ``read`` called at the end of every step, for counters of its own, until it answers None."""

    def at_look(self, look: Look) -> None:
        """Have ``look`` called at the end of some steps, for counters that are dear to read.

        Of the first one, the last one before the process is held, the first one after that, and of others
        some 100 ms apart.
        """

    def describe_with(self, describe: Callable[[], dict[str, object]]) -> None:
        """Have ``describe`` called for every fingerprint."""

    def wrap(self, owner: object, name: str, make: Callable[[Callable[..., object]], object]) -> None:
        """Replace an attribute by ``make(original)`` until the agent is taken out."""


Install = Callable[[Recorder, ModuleType], None]
