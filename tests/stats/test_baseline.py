"""A baseline excuses what was there, and only that."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ckpt_doctor.facts.baseline import BaselineDelta, SavedReport
from ckpt_doctor.facts.comparison import Interval
from ckpt_doctor.facts.report import Finding, Location, Severity, Side, Status, Verdict
from ckpt_doctor.stats.baseline import against_baseline
from tests.report.sample import cold_cache, order_lost

VERDICT = Verdict(Status.SLOWER, Side.DATA, "DAT203", None, "Slower.")
COST = Interval(1.53, 1.49, 1.57)


def delta(
    earlier: Sequence[Finding], later: Sequence[Finding], ratio: Interval | None = COST
) -> BaselineDelta:
    """The later findings held against the earlier ones, of a resume that cost 1.53×."""
    return against_baseline(SavedReport("base.json", VERDICT, COST, tuple(earlier), ()), later, ratio)


def test_new_known_and_gone() -> None:
    """A rule that was there is known, one that was not is new, one that is no more is gone."""
    found = delta([cold_cache(), order_lost()], [cold_cache(), order_lost(code="STA111")])
    assert [f.code for f in found.known] == ["DAT203"]
    assert [f.code for f in found.new] == ["STA111"]
    assert found.gone == ("DAT201",)
    assert not found.costlier


def test_paths_decide_nothing() -> None:
    """The same rule about another checkpoint or line is known: both move from commit to commit."""
    moved = order_lost(checkpoint="runs/step-900.pt", location=Location("other.py", 1))
    assert delta([order_lost(checkpoint="runs/step-500.pt")], [moved]).new == ()


@pytest.mark.parametrize(
    "later",
    [
        [order_lost(severity=Severity.ERROR)],
        [order_lost(checkpoint="a.pt"), order_lost(checkpoint="b.pt")],
    ],
    ids=["more severe", "more of them"],
)
def test_worse_is_new(later: list[Finding]) -> None:
    """A known rule that is more severe now, or found more often, is not excused."""
    assert delta([order_lost()], later).new == tuple(later)


@pytest.mark.parametrize(
    ("ratio", "costlier"),
    [
        (Interval(1.80, 1.70, 1.90), True),
        (Interval(1.80, 1.50, 2.10), False),
        (Interval(1.58, 1.575, 1.59), False),
        (Interval(1.20, 1.10, 1.30), False),
        (None, False),
    ],
    ids=["apart", "intervals meet", "below the floor", "cheaper", "nothing was run"],
)
def test_a_costlier_resume(ratio: Interval | None, costlier: bool) -> None:
    """A cost that is higher beyond both intervals and the floor takes the excuse from what costs time."""
    found = delta([cold_cache(), order_lost()], [cold_cache(), order_lost()], ratio)
    assert found.costlier is costlier
    assert [f.code for f in found.new] == (["DAT203"] if costlier else [])
