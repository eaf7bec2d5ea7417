"""Gives arms their turns, until the answer is clear or the time is up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from statistics import fmean

from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.outputs import Outputs
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.probe.residency import Residency
from ckpt_doctor.stats.alignment import INTERLEAVED
from ckpt_doctor.stats.stopping import is_clear, is_undecided

MIN_TURN_STEPS = 4
MIN_ROUNDS = 3
"""Rounds that are taken however long they last."""
FINGERPRINT_EVERY = 4
"""Rounds between two looks at the settings of both runs."""
EXTENSION_RATIO = 2
"""So many times the turns asked for are taken where the answer is still open, within the time budget."""
ROUNDS_AVERAGED = 4
"""The length of the next turn follows the mean of so many of the control's last ones."""
JITTER_RATIO = 0.125
MIN_JITTER_STEPS = 2
"""A turn has up to so many steps more than its time holds: that part of them, and at least so many."""
SEED = 20250101
"""The same script is measured in turns of the same lengths, as far as its steps are."""
STACKS_STARTUP_S = 1.0
"""py-spy reads the symbols of all libraries before its first sample."""

Progress = Callable[[str, "float | None"], None]
"""Called with what is going on, and how much of it is done (0 to 1) where that is known."""


class Turns:
    """Held arms that go on in turns of equally many steps: the control first, the one that is judged last.

    Each finds the page cache, and the folder of the checkpoints, as if it had the machine to itself.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        views: Sequence[Residency],
        outputs: Outputs,
        request: ProbeRequest,
        progress: Progress,
        phase: str = INTERLEAVED,
    ) -> None:
        self._arms = tuple(arms)
        self._views = dict(zip(arms, views, strict=True))
        self._outputs = outputs
        self._request = request
        self._progress = progress
        self._phase = phase
        self._stacks = request.stacks and phase == INTERLEAVED
        self._step_s: dict[Arm, list[float]] = {arm: [] for arm in arms}
        self._began_s = 0.0
        self._random = random.Random(SEED)

    def take(self) -> tuple[Arm | None, bool]:
        """Take all turns.

        Returns:
            The arm that ended by itself, if one did; and whether the time was up before all was done.
        """
        request = self._request
        if self._stacks:
            self._attach_stacks()
        self._began_s = time.monotonic()
        steps, taken = MIN_TURN_STEPS, 0
        for number in range(EXTENSION_RATIO * request.turns + 1):
            ended = self._round(number, steps)
            if ended is not None:
                return ended, False
            taken += steps
            if self._settled(number) or taken >= request.steps:
                return None, False
            if self._spent_s() > request.budget_s and number >= MIN_ROUNDS:
                return None, True
            steps = min(self._next_steps(), request.steps - taken)
        return None, False

    def _round(self, number: int, steps: int) -> Arm | None:
        """One turn of each arm; returns the arm that ended by itself."""
        request = self._request
        sampled = self._stacks and number % 2 == 1
        # The arm that goes first changes: what drifts on the machine meets both alike.
        for arm in self._arms if number % 2 == 0 else self._arms[::-1]:
            if number % FINGERPRINT_EVERY == 1:
                arm.ask_fingerprint()
            if not self._turn(arm, steps, sampled):
                return arm
        done = max(number / request.turns, self._spent_s() / request.budget_s)
        self._progress(f"turn {number} of {request.turns}, {steps} steps each", min(1.0, done))
        return None

    def _turn(self, arm: Arm, steps: int, sampled: bool) -> bool:
        """One turn; False when the run ended before it was over."""
        touched = {path for each in self._arms for path in each.read_files()}
        self._views[arm].put_back(touched)
        self._outputs.show(arm.name)
        turn = arm.advance(steps, self._phase, sampled=sampled)
        if turn is None:
            return False
        self._outputs.hide(arm.name, arm.written_paths())
        self._views[arm].note(touched | arm.read_files())
        self._step_s[arm].append((turn.t_end_s - turn.t_start_s) / steps)
        return True

    def _settled(self, number: int) -> bool:
        """Whether no further round is needed; the first one is short and warms up."""
        before, after = (self._step_s[arm][1:] for arm in (self._arms[0], self._arms[-1]))
        return is_clear(before, after) or (number >= self._request.turns and not is_undecided(before, after))

    def _next_steps(self) -> int:
        """Steps of the next turn: as many as its time holds, and a random few more.

        The first step of a turn is not compared. In epochs of as many steps as a turn has, that would be the
        same step of each of them, and what it costs would not be seen.
        """
        control = self._step_s[self._arms[0]][-ROUNDS_AVERAGED:]
        steps = max(MIN_TURN_STEPS, round(self._request.turn_s / fmean(control)))
        return steps + self._random.randint(0, max(MIN_JITTER_STEPS, round(JITTER_RATIO * steps)))

    def _spent_s(self) -> float:
        return time.monotonic() - self._began_s

    def _attach_stacks(self) -> None:
        for arm in self._arms:
            arm.start_stacks()
        time.sleep(STACKS_STARTUP_S)
        for arm in self._arms:
            arm.pause_stacks()
