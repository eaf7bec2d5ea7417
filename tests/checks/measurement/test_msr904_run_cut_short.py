"""MSR904: a recording that was cut short."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.checks.engine import judge
from tests.builders import control, make_case, one, resumed


def test_a_recording_that_was_cut_short_is_a_warning() -> None:
    """What there is gets used, and the end is told."""
    findings, _ = judge(make_case(control(), resumed(complete=False)))
    assert "cut short" in one(findings, "MSR904").summary


def test_a_script_that_failed_is_told_with_its_exit_code() -> None:
    """A run that ended by itself with an error has a trailer, and is cut short all the same."""
    after = resumed()
    failed = replace(after, meta=replace(after.meta, ended_by="itself", exit_code=7))
    findings, _ = judge(make_case(control(), failed))
    assert "exit code 7" in one(findings, "MSR904").summary
