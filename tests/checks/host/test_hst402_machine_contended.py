"""HST402: other work on the machine."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Severity
from tests.builders import control, make_case, resumed

WAITING = {"run_queue_s": 0.003}


def test_busy_neighbours_that_make_the_runs_wait_are_reported() -> None:
    """Others use 70 % of the machine, and the runs wait 0.3 s per s."""
    case = make_case(*(arm(other_cpu_ratio=0.7, sampled=WAITING) for arm in (control, resumed)))
    findings, _ = judge(case)
    assert [(f.code, f.severity) for f in findings] == [("HST402", Severity.WARNING)]
    assert "70 %" in findings[0].summary


def test_busy_neighbours_that_make_nobody_wait_are_not() -> None:
    """A machine with cores to spare is no trouble."""
    assert judge(make_case(control(other_cpu_ratio=0.4), resumed(other_cpu_ratio=0.4)))[0] == ()


def test_waiting_among_the_run_s_own_threads_is_not() -> None:
    """More workers than cores make themselves wait, with nobody else there."""
    assert judge(make_case(control(sampled=WAITING), resumed(sampled=WAITING)))[0] == ()


def test_without_samples_it_is_not_evaluated() -> None:
    """A machine that was not watched is not a quiet one."""
    runs = [replace(run, samples=(), host=()) for run in (control(), resumed())]
    _, unknown = judge(make_case(*runs))
    assert "HST402" in {n.code for n in unknown}
