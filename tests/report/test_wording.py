"""Words and orders that several formats share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.facts.comparison import Interval, PairRatio, Shape, StartCost
from ckpt_doctor.facts.report import Evidence, Location, Severity, Side, Status, Verdict
from ckpt_doctor.report import wording
from tests.report.sample import cold_cache, comparison, inspect_report, order_lost, probe_report


def test_headline() -> None:
    """A comparison shows its ratio, an inspection its findings, a healthy one just that."""
    assert wording.headline(probe_report()) == "SLOWER 1.53× (1.49–1.57)"
    findings = (cold_cache(), order_lost(), order_lost(severity=Severity.INFO), order_lost())
    assert wording.headline(inspect_report(findings=findings)) == "FINDINGS: 1 error, 2 warnings, 1 info"
    healthy = Verdict(Status.HEALTHY, Side.NONE, None, None, "All there.")
    assert wording.headline(inspect_report(verdict=healthy, findings=())) == "HEALTHY"


def test_order_of_telling() -> None:
    """The cause leads even where another costs more, and lasting costs come before one-time ones."""
    once = cold_cache(code="DAT202", shape=Shape.ONE_TIME, delta_s=60.0)
    lasting = cold_cache(code="CMP305", delta_s=0.5)
    report = probe_report(findings=(once, lasting, order_lost(), cold_cache()))
    codes = [finding.code for finding in wording.by_cost(report)]
    assert codes == ["DAT203", "CMP305", "DAT202", "DAT201"]


def test_what_to_do() -> None:
    """The remedy is told, then the next measurement, and where they are the same, that alone."""
    report = probe_report()
    assert wording.what_to_do(report) == (("Fix", cold_cache().remedy),)
    both = replace(report, verdict=report.verdict._replace(next_step="Measure."))
    assert wording.what_to_do(both) == (("Fix", cold_cache().remedy), ("Next", "Measure."))
    same = replace(report, verdict=report.verdict._replace(next_step=cold_cache().remedy))
    assert wording.what_to_do(same) == (("Next", cold_cache().remedy),)


def test_place() -> None:
    """Lines are named relative to where the script ran, others by their full path, and none where unknown."""
    inside = cold_cache(location=Location("/home/user/src/train.py", 42))
    outside = cold_cache(location=Location("/opt/train.py", 42))
    assert wording.place(inside, probe_report()) == "src/train.py:42"
    assert wording.place(outside, probe_report()) == "/opt/train.py:42"
    assert wording.place(inside, inspect_report()) == "/home/user/src/train.py:42"
    assert wording.place(order_lost(), probe_report()) is None


def test_cost() -> None:
    """A cost is per step for lasting shapes, in all for one-time ones, and absent where unknown."""
    assert wording.cost(cold_cache()) == "+17.1 ms/step, 96 % of the slowdown"
    assert wording.cost(cold_cache(shape=Shape.ONE_TIME, share_ratio=None, delta_s=2.8)) == "+2.80 s once"
    assert wording.cost(order_lost()) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "s", "unknown"),
        (True, None, "yes"),
        (False, None, "no"),
        ("fork", None, "fork"),
        (2, "s", "2.00 s"),
    ],
)
def test_evidence_values(value: float | str | bool | None, unit: str | None, text: str) -> None:
    """Every type of evidence has its words; what is missing is unknown, not zero."""
    assert wording.evidence_value(Evidence("x", value, unit, "agent")) == text


def test_what_each_pair_of_processes_read() -> None:
    """Several pairs are told with their number and what each read; of one pair nothing more is told."""
    read = tuple(PairRatio("b", "a", Interval(ratio, 1.0, 2.0)) for ratio in (1.5, 1.554, 1.5))
    words = wording.measured(comparison(pairs=read))
    assert words[1] == "over 3 pairs of processes: 1.50, 1.55, 1.50"
    assert (words[0], *words[2:]) == wording.measured(comparison())


def test_start_rows() -> None:
    """The parts of a start and what they leave over; what neither run took is left out, unknown is None."""
    rows = wording.start_rows(comparison())
    assert list(rows) == ["imports", "loading", "workers", "fast-forward", "everything else"]
    assert rows["loading"] == (None, 0.3)
    assert rows["everything else"] == (pytest.approx(1.1), pytest.approx(0.1))
    unknown = StartCost(None, None, None, None, None, None, None)
    assert wording.start_rows(comparison(before_start=unknown))["everything else"][0] is None


def test_what_ran() -> None:
    """A run is called by its script and arguments, a module by its command, a trace by its path."""
    run = comparison().after.run
    assert wording.what_ran(run) == "train.py --out runs/x"
    module = replace(run, meta=replace(run.meta, command=("python", "-m", "package.train")))
    assert wording.what_ran(module) == "python -m package.train"
    assert wording.what_ran(replace(run, meta=replace(run.meta, command=()))) == "runs/probe/after"


def test_not_measured() -> None:
    """What lacks for one reason is told once, in words."""
    lacking = {"run_queue_s": "not here", "sample_order": "not here", "cuda_events": "no device"}
    told = wording.not_measured(comparison(not_measured=lacking))
    assert told == {"not here": ("run queue time", "sample order"), "no device": ("cuda events",)}


@pytest.mark.parametrize("path", ["runs/x/last.pt", "last.pt", "s3://bucket/last.pt", "/runs/last.pt/"])
def test_file_name(path: str) -> None:
    """A path is called by its last part."""
    assert wording.file_name(path) == "last.pt"


def test_the_slowdown_that_would_show() -> None:
    """It is no less than what is called one, however still the steps are."""
    for detectable_ratio, told in ((1.04, "a slowdown above 5.0 % would show"), (1.11, "above 11 %")):
        made = comparison(detectable_ratio=detectable_ratio, effect_floor_ratio=1.05)
        assert any(told in words for words in wording.measured(made))


def test_context_label() -> None:
    """Recordings are called what they are of; that of a treated run by the cause that was taken away."""
    assert wording.context_label("before") == "Before"
    assert wording.context_label("confirm-CMP305") == "Without CMP305"
