"""glibc's thresholds are fixed in the treated run."""

from __future__ import annotations

from ckpt_doctor.agent.heap import STEADY_HEAP
from ckpt_doctor.agent.treatments.cmp317_heap_steadied import plan
from ckpt_doctor.facts.treatment import NotThere, PutBack
from tests.agent.treatments.conftest import suspected
from tests.builders import comparison_of, control, make_case, resumed


def test_the_thresholds_are_variables() -> None:
    """They have to be there when the process starts, so the agent has nothing to do."""
    planned = plan(suspected("CMP317"), comparison_of(make_case(control(), resumed())))
    assert isinstance(planned, PutBack)
    assert planned.environment == STEADY_HEAP
    assert planned.settings is None


def test_a_heap_that_is_steady_already() -> None:
    """There is nothing to put back."""
    values = {f"env.{name}": value for name, value in STEADY_HEAP.items()}
    comparison = comparison_of(make_case(control(values=values), resumed(values=values)))
    assert isinstance(plan(suspected("CMP317"), comparison), NotThere)
