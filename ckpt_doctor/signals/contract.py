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

Digest = str | Callable[[], str]
"""What identifies a batch, or what works that out when it is written down: many at once are cheaper."""


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


class Recorder(Protocol):
    """The agent, as hooks see it."""

    def push(self, part: int) -> None:
        """Start a part of the step (signals.clock), interrupting the running one."""

    def pop(self) -> None:
        """End the innermost part."""

    def pop_into(self, part: int) -> None:
        """End the innermost part; outside all parts, ``part`` is running from now on."""

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

    def running_step(self) -> int:
        """The step of this process that is under way, counted from 0."""

    def still_writing(self, written: Future[object]) -> None:
        """Record that the save goes on in the background: a probe holds nobody before it is done."""

    def about_to_write(self, path: str) -> None:
        """Announce a file that native code is going to overwrite: a probe protects the user's."""

    def batch_drawn(self, digest: Digest | None, source: str) -> None:
        """Record that a batch reached the training loop, and what identifies it."""

    def with_each_batch(self, act: Callable[[Any, Any], None]) -> None:
        """Have ``act`` called with a loader's iterator and each batch that it gives; observer's time."""

    def batch_arrived(self, iterator: object, batch: object) -> None:
        """Hand a batch to all that asked for each one."""

    def with_each_backward(self, act: Callable[[str, tuple[Any, ...], dict[str, Any]], None]) -> None:
        """Have ``act`` called before each outermost backward pass: the function and its arguments."""

    def backward_begins(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tell all that asked for each backward pass."""

    def for_each_optimizer(self, act: Callable[[Any], None]) -> None:
        """Have ``act`` called with each optimizer when it steps for the first time."""

    def optimizer_steps(self, optimizer: object) -> None:
        """Record that an optimizer begins a step; the first one is told to all that asked."""

    def input_seen(self, digest: str) -> None:
        """Record what identifies the model's input, for steps that no loader feeds."""

    def after_save(self, act: Callable[[], None]) -> None:
        """Have ``act`` called after each checkpoint save."""

    def update_done(self, optimizer: object) -> None:
        """Record that an optimizer has done, or skipped, an update: steps end here."""

    def at_step_end(self, read: Callable[[], dict[str, float] | None]) -> None:
        """Have ``read`` called at the end of every step, for counters of its own, until it answers None."""

    def about_to_wait(self) -> bool:
        """Whether the process is going to be held at the end of the running step."""

    def describe_with(self, describe: Callable[[], dict[str, object]]) -> None:
        """Have ``describe`` called for every fingerprint."""

    def wrap(self, owner: object, name: str, make: Callable[[Callable[..., object]], object]) -> None:
        """Replace an attribute by ``make(original)`` until the agent is taken out."""


Install = Callable[[Recorder, ModuleType], None]
