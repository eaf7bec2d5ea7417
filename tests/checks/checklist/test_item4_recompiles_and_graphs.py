"""Whether the resumed run compiles and captures as the control did."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.checklist.item4_recompiles_and_graphs import judge
from ckpt_doctor.facts.checklist import ItemStatus
from tests.builders import RESUMED_STEPS, control, event, make_case, make_checklist_case, resumed

FIRST = event("compile", 0, 1.0, cache_hits=1, cache_misses=0)


def test_nothing_is_compiled() -> None:
    """Plain eager training has nothing to lose."""
    outcome = judge(make_checklist_case(make_case(control(), resumed())))
    assert (outcome.status, outcome.sentence) == (ItemStatus.CHECKED, "nothing is compiled or captured")


def test_as_often_as_the_control() -> None:
    """Both counts are told."""
    case = make_case(control(events=[FIRST]), resumed(events=[FIRST]))
    outcome = judge(make_checklist_case(case))
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence == "compiled 1 (before 1), captured 0 (0)"


def test_recompiles() -> None:
    """What CMP301 found is told by its name."""
    again = [event("compile", i, 0.2, reason="x", cache_hits=0) for i in range(15, RESUMED_STEPS, 10)]
    after = resumed(0.03, parts={"compile": 0.02}, events=[FIRST, *again])
    outcome = judge(make_checklist_case(make_case(control(events=[FIRST]), after)))
    assert outcome.status is ItemStatus.FAILED
    assert outcome.codes[0] == "CMP301"
    assert outcome.sentence.startswith("recompiles")


@pytest.mark.parametrize("signal", ["compile", "graph_capture"])
def test_what_is_not_seen(signal: str) -> None:
    """A version of torch without the hooks is said so."""
    case = make_case(control(not_measured={signal: "no callbacks"}), resumed())
    outcome = judge(make_checklist_case(case))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "no callbacks" in outcome.sentence
