"""MSR903: no stacks."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Severity
from tests.builders import control, make_case, one, resumed


def test_missing_stacks_are_mentioned_with_their_reason() -> None:
    """py-spy was not allowed to look."""
    after = replace(resumed(), not_measured={"stacks": "ptrace is not permitted"})
    findings, _ = judge(make_case(control(), after))
    assert one(findings, "MSR903").severity is Severity.INFO
    assert "ptrace is not permitted" in findings[0].summary


def test_with_stacks_there_is_nothing_to_mention() -> None:
    """A measurement whose stacks were sampled says nothing about them."""
    assert judge(make_case(control(lines={}), resumed(lines={})))[0] == ()
