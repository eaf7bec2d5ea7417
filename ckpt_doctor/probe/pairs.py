"""What further pairs of processes are asked to do, each in a part of the time."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.probe.request import ProbeRequest

TURNS_SHARE = 0.5
"""Part of the first pair's turns that a further one takes. Processes differ by more than what the steps of
half as many turns leave open, so in the same time more pairs tell more than longer ones."""

UNASKED_EVERY_S = 15.0
"""Where the number of pairs was not given, there may be one for each so much of the budget: four with the
usual one, one more than it takes to know their spread."""


def most_unasked(budget_s: float) -> int:
    """How many pairs there may be where their number was not given.

    Args:
        budget_s: Seconds that were given to measure.
    """
    return max(1, int(budget_s // UNASKED_EVERY_S))


def is_worth_its_start(request: ProbeRequest, starts_s: float) -> bool:
    """Whether a pair that nobody asked for starts within the time that was given to measure.

    Args:
        request: What the probe was asked to do.
        starts_s: Seconds that the first pair took beside its turns.
    """
    return starts_s <= request.budget_s


def further_pair(request: ProbeRequest, spent_s: float) -> ProbeRequest | None:
    """What one more pair of processes is asked to do.

    Its stacks are not sampled: the lines that grew are those of the first pair.

    Args:
        request: What the probe was asked to do.
        spent_s: Seconds that all turns so far have taken.

    Returns:
        None where the budget does not hold the turns that it would take.
    """
    turns = max(1, round(TURNS_SHARE * request.turns))
    left_s = request.budget_s - spent_s
    if left_s < 2 * turns * request.turn_s:
        return None
    return replace(request, turns=turns, budget_s=left_s, stacks=False)
