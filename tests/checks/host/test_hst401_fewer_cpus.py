"""HST401: fewer CPUs or threads."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Severity, Side
from tests.builders import control, make_case, one, resumed


def test_one_cpu_less_with_slower_steps_is_the_host() -> None:
    """Everything grew, and the process may use one CPU where it had two."""
    case = make_case(control(), resumed(0.016, parts={"forward": 0.006}, values={"cpus.allowed": 1}))
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["HST401"]
    assert decide(case, findings).side is Side.HOST


def test_fewer_cpus_at_the_same_speed_are_only_mentioned() -> None:
    """One thread did the work before as well."""
    findings, _ = judge(make_case(control(), resumed(values={"cpus.allowed": 1})))
    assert [(f.code, f.severity) for f in findings] == [("HST401", Severity.INFO)]


def test_what_another_cause_proves_is_not_the_host_s() -> None:
    """A cold cache keeps its share; the host gets what is left."""
    after = resumed(
        0.018,
        parts={"data_wait": 0.005},
        sampled={"physical_read_bytes": 500_000},
        values={"env.OMP_NUM_THREADS": "1"},
    )
    findings, _ = judge(make_case(control(values={"env.OMP_NUM_THREADS": "2"}), after))
    assert one(findings, "DAT203").share_ratio == pytest.approx(0.5, abs=0.05)
    assert one(findings, "HST401").share_ratio == pytest.approx(0.5, abs=0.05)


def test_more_threads_are_no_fault() -> None:
    """Only fewer are."""
    assert judge(make_case(control(), resumed(values={"threads.intra_op": 2})))[0] == ()
