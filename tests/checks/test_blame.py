"""What the rules about two runs have in common."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import CounterDelta
from tests.report.sample import comparison


@pytest.mark.parametrize("batches", [None, 0.0, 1.0])
@pytest.mark.parametrize("waits", [True, False])
def test_a_loader_was_seen_or_waited_for(batches: float | None, waits: bool) -> None:
    """Evidence that counts no batches may tell the wait for them; where neither is there, there is none."""
    made = comparison()
    counter = {} if batches is None else {"batches": CounterDelta("batches", "count/step", batches, batches)}
    budget = made.budget if waits else tuple(part for part in made.budget if part.part != "data_wait")
    known = replace(made, counters=counter, budget=budget)
    assert blame.has_loader(known) is (waits or bool(batches))
    assert blame.data_parts(known) == (
        ("data_wait",) if waits or batches else ("data_wait", "forward", "rest")
    )
