"""The answer against a baseline."""

from __future__ import annotations

from ckpt_doctor.checks.baseline import decide
from ckpt_doctor.facts.baseline import BaselineDelta
from ckpt_doctor.facts.comparison import Interval
from ckpt_doctor.facts.report import Confidence, Side, Status, Verdict
from tests.report.sample import cold_cache, order_lost, probe_report

OPEN = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "Too noisy.", "Use --threads 1.")


def test_something_new() -> None:
    """New findings are the answer; the cause is named where it is among them."""
    slower = probe_report().verdict
    answer = decide(BaselineDelta((cold_cache(),), (), (), False), slower, None, None)
    assert (answer.status, answer.side, answer.cause) == (Status.FINDINGS, Side.DATA, "DAT203")
    assert answer.confidence is Confidence.CONFIRMED
    answer = decide(BaselineDelta((order_lost(),), (cold_cache(),), (), False), slower, None, None)
    assert answer.cause is None
    assert answer.sentence.startswith("1 finding that")


def test_nothing_new() -> None:
    """Known findings are counted, and what the resume costs is told."""
    ratios = (Interval(1.5, 1.4, 1.6), Interval(1.4, 1.3, 1.5))
    answer = decide(BaselineDelta((), (cold_cache(),), (), False), probe_report().verdict, *ratios)
    assert answer.status is Status.HEALTHY
    assert "1 finding known" in answer.sentence
    assert "costs no more than it did: 1.40×, in the baseline 1.50×" in answer.sentence


def test_an_open_measurement_stays_open() -> None:
    """A measurement that is too weak does not pass for healthy; new findings outweigh it."""
    answer = decide(BaselineDelta((), (), (), False), OPEN, None, None)
    assert answer.status is Status.INCONCLUSIVE
    assert answer.next_step == OPEN.next_step
    assert decide(BaselineDelta((order_lost(),), (), (), False), OPEN, None, None).status is Status.FINDINGS
