"""MSR907: a log that shows another speed than its steps have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import Finding, Severity
from ckpt_doctor.facts.run import Event, RunRecord
from ckpt_doctor.readers.step_log import RATE
from tests.builders import make_case, make_run


def logged(
    step_s: float, rates: dict[str, float], *, arm: str = "before", steps: bool = False, samples: float = 32
) -> RunRecord:
    """A run of which only a log is there, with the rates that it shows."""
    events = [
        Event(RATE, 0.0, step, None, {"name": name, "per_s": per_s, "steps": steps})
        for step in range(100)
        for name, per_s in rates.items()
    ]
    run = make_run(
        [step_s] * 100,
        arm=arm,
        events=events,
        counters={"samples": samples},
        not_measured={RECORDING: "a log tells too little"},
    )
    return replace(run, samples=(), host=())


def told(before: RunRecord, after: RunRecord) -> list[Finding]:
    """What the rule finds; the verdict goes by the clock alone."""
    case = make_case(before, after)
    findings, _ = judge(case)
    verdict = decide(case, findings)
    assert verdict.cause != "MSR907"
    return [finding for finding in findings if finding.code == "MSR907"]


def test_the_report_of_390_times() -> None:
    """571 tokens per second become 224 413 at the resume, though each step takes as long as before."""
    found = told(logged(1.4, {"throughput": 571.0}), logged(1.41, {"throughput": 224413.0}, arm="after"))
    (finding,) = found
    assert finding.severity is Severity.WARNING
    assert "393.02×" in finding.summary
    assert "0.99×" in finding.summary
    assert finding.share_ratio is None


def test_a_rate_that_follows_the_clock() -> None:
    """Half the speed by the clock and by the log is no contradiction, and neither is a small difference."""
    assert told(logged(0.1, {"it/s": 10.0}), logged(0.2, {"it/s": 5.0}, arm="after")) == []
    assert told(logged(0.1, {"it/s": 10.0}), logged(0.1, {"it/s": 13.0}, arm="after")) == []


def test_larger_batches() -> None:
    """Four times the samples in a step are four times the samples per second."""
    before = logged(0.1, {"samples_per_second": 320.0})
    after = logged(0.1, {"samples_per_second": 1280.0}, arm="after", samples=128)
    assert told(before, after) == []


def test_a_rate_that_only_one_run_shows() -> None:
    """The summary of a resumed run divides all steps by its own time: 15 per second, where 0.17 are real."""
    after = logged(6.0, {"train_steps_per_second": 15.17}, arm="after", steps=True)
    (finding,) = told(logged(6.0, {}), after)
    assert "after the resume" in finding.summary
    assert "15.2" in finding.summary
    assert "0.167" in finding.summary


@pytest.mark.parametrize(("name", "steps"), [("it/s", True), ("samples_per_second", False)])
def test_a_rate_that_may_count_something_else(name: str, steps: bool) -> None:
    """Iterations may be micro-batches, and samples per second say nothing without a batch size."""
    after = logged(0.1, {name: 80.0}, arm="after", steps=steps)
    assert told(logged(0.1, {}), after) == []


def test_no_rates() -> None:
    """Without a rate there is nothing to say."""
    assert told(logged(0.1, {}), logged(0.1, {}, arm="after")) == []
