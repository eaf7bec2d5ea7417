"""Arms that take turns."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import cast

import pytest

from ckpt_doctor.facts.run import Turn
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.outputs import Outputs
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.probe.residency import Residency
from ckpt_doctor.probe.turns import MIN_TURN_STEPS, Turns

STEP_S = 0.05


class PacedArm:
    """An arm whose steps take equally long, or as long as luck will have it; it keeps a diary."""

    def __init__(self, name: str, diary: list[tuple[str, int]], *, luck: float = 0.0) -> None:
        self.name = name
        self._diary = diary
        self._random = random.Random(1)
        self._luck = luck

    def advance(self, steps: int, phase: str, *, sampled: bool) -> Turn:
        """Take so many steps at once."""
        self._diary.append((self.name, steps))
        step_s = STEP_S * self._random.uniform(1.0 - self._luck, 1.0 + self._luck)
        return Turn(0.0, step_s * steps, phase, sampled)

    def ask_fingerprint(self) -> None:
        """Has no settings."""

    def read_files(self) -> set[Path]:
        """Reads nothing."""
        return set()

    def written_paths(self) -> list[str]:
        """Writes nothing."""
        return []


def diary_of(request: ProbeRequest, folder: Path) -> list[tuple[str, int]]:
    """Who took how many steps, turn by turn; the resumed run's pace leaves the answer open."""
    diary: list[tuple[str, int]] = []
    paced = PacedArm("before", diary), PacedArm("after", diary, luck=0.5)
    arms = [cast("Arm", each) for each in paced]
    Turns(arms, [Residency(()) for _ in arms], Outputs(folder), request, lambda *_: None).take()
    return diary


def request_of(turn_s: float) -> ProbeRequest:
    """A probe without stacks, of turns that are as long as asked for."""
    return ProbeRequest(command=("python", "train.py"), turns=8, turn_s=turn_s, stacks=False)


def test_both_take_as_many_steps_and_the_first_one_changes(tmp_path: Path) -> None:
    """In each round both take equally many, and the one that went last goes first in the next."""
    diary = diary_of(request_of(turn_s=1.0), tmp_path)
    rounds = [diary[i : i + 2] for i in range(0, len(diary), 2)]
    assert len(rounds) >= 4
    for number, ((first, steps), (second, as_many)) in enumerate(rounds):
        assert steps == as_many
        assert (first, second) == (("before", "after"), ("after", "before"))[number % 2]


@pytest.mark.parametrize("turn_s", [MIN_TURN_STEPS * STEP_S, 1.0])
@pytest.mark.parametrize("epoch_steps", [2, 3, 4, 5, 8, 9, 10, 20, 21])
def test_no_step_of_an_epoch_is_always_the_first_of_a_turn(
    turn_s: float, epoch_steps: int, tmp_path: Path
) -> None:
    """A turn's first step is not compared: a step that each epoch has is that now and then only."""
    diary = diary_of(request_of(turn_s), tmp_path)
    lengths = [steps for name, steps in diary if name == "before"]
    firsts = [place % epoch_steps for place in accumulate(lengths)][:-1]
    assert len(firsts) >= 7
    assert max(Counter(firsts).values()) <= 0.6 * len(firsts) + (epoch_steps == 2)
