"""The agent: notes when steps end, collects what the hooks tell, and writes the journal."""

from __future__ import annotations

import atexit
import functools
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, MutableSequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from ckpt_doctor.agent import control as shared
from ckpt_doctor.agent import files
from ckpt_doctor.agent.journal import Journal, told
from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.facts.moments import HELD, MAX_DIGESTS, START, TAKE, UPDATE
from ckpt_doctor.signals.clock import PartClock

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ckpt_doctor.signals.contract import Digest, Look, Read

FLUSH_EVERY_NS = 500_000_000
"""A killed process loses at most this much of its journal."""

LOOK_EVERY_NS = 100_000_000
"""Shorter steps share a look at what the kernel counts: asking takes it up to 40 µs, and its CPU times are
no finer than its ticks of some milliseconds."""

MOST_EARLY = 128
"""A process that writes down more often than so before its first step draws batches for something else than
training, as a rule: what it has done until then is forgotten."""

FIRST_FINGERPRINT_STEP = 3
"""The first steps still build state (optimizer moments, compiled code)."""

STEPS, FINGERPRINTS = shared.PLACES["steps"], shared.PLACES["fingerprints"]
HOLD_AT, HOLD_ON_SAVE = shared.PLACES["hold_at"], shared.PLACES["hold_on_save"]
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")


class _Output(NamedTuple):
    """Where a process that trains writes to."""

    journal: Journal
    control: shared.Control


class Agent:
    """One training process's recorder; implements ``signals.contract.Recorder``.

    A process gets a journal at its first optimizer step, checkpoint load or checkpoint save:
    launchers, loader workers and compiler helpers do none of these and leave no trace.
    """

    # Slots lie side by side: on cold caches, a dictionary of so many names is slower.
    __slots__ = (
        *("_after_save", "_aside", "_describers", "_due_ns", "_early", "_early_moments", "_fed_aside"),
        *("_fingerprints_done", "_flushed_ns", "_from_zero", "_lookers", "_mark_start", "_mark_taken"),
        *("_next_fingerprint", "_options", "_output", "_pid", "_readers", "_saved", "_started_s", "_step"),
        *("_unwritable", "_updated", "_words", "_wrapped", "_writing", "at_backward", "at_optimizer"),
        *("clock", "counters", "identify", "inside", "pop", "push", "thread"),
    )

    def __init__(self, options: AgentOptions, started_s: float) -> None:
        self.clock = PartClock()
        self.counters: dict[str, float] = {}
        self.identify: Callable[[Any], Digest | None] = _unknown
        self.at_backward: list[Callable[[], None]] = []
        self.at_optimizer: list[Callable[[Any], None]] = []
        self.push, self.pop, self.inside = self.clock.push, self.clock.pop, self.clock.inside
        self._mark_taken, self._mark_start = self.clock.marker(TAKE), self.clock.marker(START)
        self._options = options
        self._started_s = started_s
        self._wrapped: list[tuple[object, str, object]] = []
        self._from_zero: dict[str, float] = {}
        self._readers: list[Read] = []
        self._lookers: list[Look] = []
        self._describers: list[Callable[[], dict[str, object]]] = []
        self._after_save: list[Callable[[], None]] = []
        self._reset()
        atexit.register(self._end, "itself")

    def _reset(self) -> None:
        self.clock.restart()
        self.counters.clear()
        self.counters.update(self._from_zero)
        self.thread = threading.main_thread().ident
        self._pid = os.getpid()
        self._output: _Output | None = None
        self._words: MutableSequence[int] | memoryview = [0] * len(shared.PLACES)
        """Of the control file: until there is one, the process is to be looked at after each step."""
        self._unwritable = False
        self._early: list[object] = []
        self._early_moments: list[str] = []
        """Lines of a process that has no journal yet."""
        self._fed_aside: dict[int, list[Digest]] = {}
        """What identifies batches that reached a step by other ways than the clock's."""
        self._updated: set[int] = set()
        self._step = 0
        self._flushed_ns = int(self._started_s * 1e9)
        self._due_ns = 0
        self._fingerprints_done = 0
        self._next_fingerprint = FIRST_FINGERPRINT_STEP
        self._saved = False
        self._writing: list[Future[object]] = []
        self._aside: list[object] = []

    def restart(self) -> None:
        """Begin anew in a forked child, which may be a loader worker or a rank of its own."""
        self._started_s = perf_counter()
        self._reset()

    # --- what hooks call -------------------------------------------------------------------

    def in_training_thread(self) -> bool:
        """Whether the caller runs in the thread that trains."""
        return threading.get_ident() == self.thread

    def count(self, name: str, amount: float = 1) -> None:
        """Add to a counter of the current step."""
        counters = self.counters
        counters[name] = counters.get(name, 0) + amount

    def count_from_zero(self, *names: str) -> None:
        """Have the first step tell these counters even where they are zero."""
        for name in names:
            self._from_zero[name] = 0
            self.counters.setdefault(name, 0)

    def event(self, signal: str, duration_s: float | None = None, /, **fields: object) -> None:
        """Record that something happened, during the current step."""
        self._add(["e", signal, perf_counter(), self._step, duration_s, fields])

    def fed_with(self, digest: Digest) -> None:
        """Record what identifies a batch that another thread drew, or the model's input."""
        digests = self._fed_aside.setdefault(self._step, [])
        digests.append(digest)
        del digests[:-MAX_DIGESTS]

    def after_save(self, act: Callable[[], None]) -> None:
        """Have ``act`` called after each checkpoint save."""
        self._after_save.append(act)

    def at_step_end(self, read: Read) -> None:
        """Have ``read`` called at the end of every step, until it answers None."""
        self._readers.append(read)
        self._due_ns = 0

    def at_look(self, look: Look) -> None:
        """Have ``look`` called at the end of the first step, and of others some 100 ms apart."""
        self._lookers.append(look)

    def describe_with(self, describe: Callable[[], dict[str, object]]) -> None:
        """Have ``describe`` called for every fingerprint."""
        self._describers.append(describe)

    def cannot_measure(self, name: str, why: str) -> None:
        """Record that a hook could not be installed."""
        self._add(["n", name, why])

    def checkpoint_touched(self, signal: str, duration_s: float, **fields: object) -> None:
        """Record a checkpoint save or load, at once: the probe waits for them."""
        self.event(signal, duration_s, **fields)
        output = self._register()
        if output is not None:
            self._flush(output)
        if signal == "save":
            self._saved = True
            self._due_ns = 0
            for act in self._after_save:
                act()

    def saved_aside(self, step: int, duration_s: float, **fields: object) -> None:
        """Record a save by another thread; the journal belongs to the thread that trains."""
        self._aside.append(["e", "save", perf_counter(), step, duration_s, fields])
        self._due_ns = 0

    def write_down(self) -> None:
        """Write down what has happened so far: one step may go through an epoch."""
        if self._output is not None:
            self._flush(self._output)
        elif self._unwritable or len(self._early_moments) == MOST_EARLY:
            self._forget_early_moments()
        else:
            self._early_moments.append(told(["m", *self.clock.take()]))

    def running_step(self) -> int:
        """The step of this process that is under way, counted from 0."""
        return self._step

    def still_writing(self, written: Future[object]) -> None:
        """Record that the save goes on in the background."""
        self._writing.append(written)

    def about_to_write(self, path: str) -> None:
        """Announce a file that native code is going to overwrite."""
        if self._options.watch_files:
            files.about_to_write(path)

    def update_done(self, optimizer: object) -> None:
        """End the step if this optimizer has already stepped in it.

        So a step holds one update of each optimizer, whatever their number, and gradient
        accumulation does not split it.

        This runs in every step, on cold caches: few calls, and nothing that can be done later.
        """
        now_ns = perf_counter_ns()
        updated, key = self._updated, id(optimizer)
        if updated and key not in updated:
            updated.add(key)
            self.clock.marker(UPDATE)(now_ns)
            return
        if len(updated) != 1:
            self._updated = {key}
        self._mark_taken(now_ns)
        words, step = self._words, self._step + 1
        if now_ns >= self._due_ns or words[HOLD_AT] <= step or step >= self._next_fingerprint:
            self._attend(now_ns, step)
        else:
            if self.counters:
                self._write_counters()
            self._step = words[STEPS] = step
        self._mark_start(perf_counter_ns())

    def wrap(self, owner: object, name: str, make: Callable[[Callable[..., object]], object]) -> None:
        """Replace an attribute by ``make(original)`` until the agent is taken out."""
        original = getattr(owner, name)
        replacement = make(original)
        functools.update_wrapper(replacement, original)  # type: ignore[arg-type]
        # Compilers must not trace into the agent: they call it as it is.
        replacement._torchdynamo_disable = True  # type: ignore[attr-defined]
        self._wrapped.append((owner, name, vars(owner).get(name, original)))
        setattr(owner, name, replacement)

    def take_out(self) -> None:
        """Put back every attribute that was replaced."""
        while self._wrapped:
            owner, name, original = self._wrapped.pop()
            setattr(owner, name, original)

    # --- steps -----------------------------------------------------------------------------

    def _attend(self, now_ns: int, step: int) -> None:
        """Do at ``now_ns``, when so many steps have ended, what is not done at the end of each."""
        output = self._register()
        if output is None:
            self.counters.clear()
            self.clock.restart()
            return
        words = output.control.words
        if step == 1:
            self.thread = threading.get_ident()
        self._due_ns = now_ns + LOOK_EVERY_NS
        if self._aside:
            self._take_in_saves()
        self._ask(held=self._is_held_after(step, words))
        self._write_counters()
        self._step = words[STEPS] = step
        if step >= self._next_fingerprint or words[FINGERPRINTS] > self._fingerprints_done:
            self._take_fingerprint(words[FINGERPRINTS])
        if now_ns - self._flushed_ns > FLUSH_EVERY_NS:
            self._flush(output)
            self._flushed_ns = now_ns
        if self._saved or words[HOLD_AT] <= step:
            self._hold_where_wanted(output)
        if self._readers:
            self._due_ns = 0

    def _ask(self, *, held: bool) -> None:
        """Add to the step's counters what is read at its end."""
        for look in self._lookers:
            self.counters.update(look())
        for read in tuple(self._readers):
            told = read(held)
            if told is None:
                self._readers.remove(read)
            elif told:
                self.counters.update(told)

    def _write_counters(self) -> None:
        """Write down the counters of the step that has ended; most steps have none."""
        self._add(["c", self._step, self.counters.copy()])
        self.counters.clear()

    def _take_in_saves(self) -> None:
        """Write down what other threads have saved since the last step."""
        while self._aside:
            self._add(self._aside.pop(0))
        self._saved = True

    def _take_fingerprint(self, asked: int) -> None:
        """Take a fingerprint, and settle after which step the next one is taken unasked."""
        self._fingerprints_done = asked
        if self._step >= self._next_fingerprint:
            self._next_fingerprint *= 2
        values: dict[str, object] = {}
        for describe in self._describers:
            try:
                values.update(describe())
            except Exception as error:  # noqa: BLE001 - the user's objects may answer in any way
                self.cannot_measure("fingerprint", f"{type(error).__name__}: {error}")
        self._add(["f", self._step, values])

    def _hold_where_wanted(self, output: _Output) -> None:
        """Wait while the probe wants this process held."""
        control = output.control
        held = self._is_held_after(self._step, control.words)
        writing, self._writing, self._saved = self._writing, [], False
        if not held:
            return
        self.clock.marker(HELD)(perf_counter_ns())
        for written in writing:
            with suppress(Exception):  # a save that failed is the script's own affair
                written.exception()
        if control.get("hold_at") > self._step:
            control.put("hold_at", self._step)
        self._flush(output)
        control.put("held", 1)
        while control.get("hold_at") <= self._step:
            time.sleep(0.0005)
        control.put("held", 0)
        self._due_ns = 0

    def _is_held_after(self, steps: int, words: memoryview) -> bool:
        return words[HOLD_AT] <= steps or (self._saved and words[HOLD_ON_SAVE] == 1)

    # --- the journal -----------------------------------------------------------------------

    def _add(self, line: object) -> None:
        if self._output is not None:
            self._output.journal.add(line)
        elif not self._unwritable:
            self._early.append(line)

    def _flush(self, output: _Output) -> None:
        """Write down the moments since the last time, and all that was added before."""
        self._add_moments(output.journal)
        output.journal.flush()

    def _add_moments(self, journal: Journal) -> None:
        journal.add(["m", *self.clock.take()])
        while self._fed_aside:
            journal.add(["d", *self._fed_aside.popitem()])

    def _forget_early_moments(self) -> None:
        """Begin the first step anew, now."""
        self.clock.take()
        self._early_moments.clear()
        self.clock.marker(START)(perf_counter_ns())
        self.cannot_measure("first_step", "too many batches were drawn before the first update")

    def _register(self) -> _Output | None:
        """This process's journal and control file, opened at the first call; None where that fails."""
        if self._output is None and not self._unwritable:
            rank = _rank()
            try:
                self._output = self._open(Path(self._options.recording), rank)
            except OSError as error:
                sys.stderr.write(f"ckpt-doctor: not measuring this process: {error}\n")
                self._unwritable = True
                self._early = []
                return None
            self._words = self._output.control.words
            for line in (*self._early, *self._early_moments):
                self._output.journal.add(line)
            self._early, self._early_moments = [], []
            self._output.journal.flush()
        return self._output

    def _open(self, folder: Path, rank: int) -> _Output:
        header: dict[str, object] = {
            "rank": rank,
            "node": socket.gethostname(),
            "pid": self._pid,
            "started_s": self._started_s,
            "unix_minus_monotonic_s": time.time() - perf_counter(),
        }
        journal = Journal(folder / f"rank{rank:05d}-{self._pid}.jsonl", header)
        control = shared.Control(folder / f"{shared.PREFIX}{self._pid}", create=True)
        hold_at = self._options.hold_at
        control.put("hold_at", shared.NEVER if hold_at is None else hold_at)
        control.put("hold_on_save", int(self._options.hold_on_save))
        control.put("steps", self._step)
        control.put("rank", rank)
        control.put("pid", self._pid)  # last: whoever sees it finds the rest in place
        return _Output(journal, control)

    def _end(self, ended_by: str) -> None:
        """Write the trailer; a process without a journal leaves none."""
        if self._output is None or os.getpid() != self._pid:
            return
        self._add_moments(self._output.journal)
        self._output.journal.add(["t", ended_by, perf_counter()])
        self._output.journal.close()
        self._output = None


def _unknown(batch: object) -> None:
    """Identifies no batch."""


def _rank() -> int:
    """This process's rank: from torch.distributed where it runs, else from the launcher's variables."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    for name in RANK_VARIABLES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0
