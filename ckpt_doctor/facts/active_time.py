"""The time during which a run was allowed to go on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ckpt_doctor.facts.run import Turn


class ActiveTime:
    """A clock that stands still while a process is held between its turns."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = sorted((turn.t_start_s, turn.t_end_s) for turn in turns)

    def at(self, t_s: float) -> float:
        """Seconds of running until ``t_s``; before the first turn and after the last it runs on."""
        held = 0.0
        for (_, end_s), (start_s, _) in pairwise(self._turns):
            held += min(max(t_s - end_s, 0.0), max(start_s - end_s, 0.0))
        return t_s - held
