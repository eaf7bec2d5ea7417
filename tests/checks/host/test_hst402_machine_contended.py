"""HST402: other work on the machine."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import Confidence, Severity, Status
from tests.builders import control, make_case, make_run, one, resumed

WAITING = {"run_queue_s": 0.003}


def test_busy_neighbours_that_make_the_runs_wait_are_reported() -> None:
    """Others use 70 % of the machine, and the runs wait 0.3 s per s."""
    case = make_case(*(arm(other_cpu_ratio=0.7, sampled=WAITING) for arm in (control, resumed)))
    findings, _ = judge(case)
    assert [(f.code, f.severity) for f in findings] == [("HST402", Severity.WARNING)]
    assert "70 %" in findings[0].summary
    assert "a slowdown cannot be told" in findings[0].summary


def test_where_the_runs_differ_anyhow_no_limit_is_told() -> None:
    """What could not have been told is no news beside a slowdown that is far larger, with its cause."""
    cold = {**WAITING, "physical_read_bytes": 500_000}
    after = resumed(0.03, parts={"data_wait": 0.021}, other_cpu_ratio=0.7, sampled=cold)
    findings, _ = judge(make_case(control(other_cpu_ratio=0.7, sampled=WAITING), after))
    assert "cannot be told" not in one(findings, "HST402").summary
    assert one(findings, "DAT203").severity is Severity.ERROR


def test_busy_neighbours_that_make_nobody_wait_are_not() -> None:
    """A machine with cores to spare is no trouble."""
    assert judge(make_case(control(other_cpu_ratio=0.4), resumed(other_cpu_ratio=0.4)))[0] == ()


def test_waiting_among_the_run_s_own_threads_is_not() -> None:
    """More workers than cores make themselves wait, with nobody else there."""
    assert judge(make_case(control(sampled=WAITING), resumed(sampled=WAITING)))[0] == ()


def test_steps_that_are_torn_apart_tell_of_a_busy_machine() -> None:
    """Where nobody watched the machine, work that usually takes twice as long as it can is a sign."""
    torn = {"forward": [0.002, 0.004, 0.006, 0.005] * 30, "backward": [0.002, 0.006, 0.005, 0.006] * 30}
    times = [0.006, 0.012, 0.013, 0.013] * 30
    runs = (
        make_run(times, parts=torn, not_measured={RECORDING: "a trace"}),
        make_run(times, arm="after", parts=torn, not_measured={RECORDING: "a trace"}),
    )
    case = make_case(*(replace(run, samples=(), host=()) for run in runs))
    findings, _ = judge(case)
    found = one(findings, "HST402")
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.SUSPECTED)
    assert decide(case, findings).status is Status.INCONCLUSIVE


def test_without_samples_it_is_not_evaluated() -> None:
    """A machine that was not watched is not a quiet one."""
    runs = [replace(run, samples=(), host=()) for run in (control(), resumed())]
    _, unknown = judge(make_case(*runs))
    assert "HST402" in {n.code for n in unknown}
