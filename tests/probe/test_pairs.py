"""Further pairs of processes are asked for less each, and for no more than the budget holds."""

from __future__ import annotations

from ckpt_doctor.probe.pairs import further_pair, is_worth_its_start, most_unasked
from ckpt_doctor.probe.request import ProbeRequest

REQUEST = ProbeRequest(command=("train",), turns=12, turn_s=0.5, budget_s=60.0, pairs=8)


def test_half_of_the_turns_and_the_rest_of_the_budget() -> None:
    """A further pair takes half as many turns, within what is left of the time, and samples no stacks."""
    plan = further_pair(REQUEST, 20.0)
    assert plan is not None
    assert (plan.turns, plan.turn_s, plan.budget_s, plan.stacks) == (6, 0.5, 40.0, False)
    assert (plan.command, plan.steps, plan.pairs) == (REQUEST.command, REQUEST.steps, 8)


def test_the_budget_ends_the_series() -> None:
    """Where the turns of both runs do not fit into what is left, there is no further pair."""
    assert further_pair(REQUEST, 54.0) is not None
    assert further_pair(REQUEST, 54.5) is None
    assert further_pair(REQUEST, 100.0) is None


def test_one_turn_at_least() -> None:
    """Half of one turn is one turn."""
    plan = further_pair(ProbeRequest(command=("train",), turns=1), 0.0)
    assert plan is not None
    assert plan.turns == 1


def test_a_slow_start_is_not_repeated_unasked() -> None:
    """Two processes that take longer to start than there is to measure are one pair."""
    assert is_worth_its_start(REQUEST, 59.0)
    assert not is_worth_its_start(REQUEST, 61.0)


def test_as_many_unasked_as_the_budget_is_worth() -> None:
    """More time means more pairs, where the answer stays open; the first one is measured in any case."""
    assert [most_unasked(budget_s) for budget_s in (1.0, 60.0, 119.0, 120.0)] == [1, 4, 7, 8]
