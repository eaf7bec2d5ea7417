"""Amounts that are added up within a step."""

from __future__ import annotations

from ckpt_doctor.signals.tally import Tally


def test_the_first_step_tells_all_names_and_later_ones_what_moved() -> None:
    """A name that a recording lacks was not measured; one that it has means zero wherever it is silent."""
    tally = Tally("a", "b")
    tally.add("b")
    tally.add("b", 0.5)
    assert tally.take() == {"a": 0, "b": 1.5}
    assert tally.take() == {}
    tally.add("a")
    assert tally.take() == {"a": 1}
