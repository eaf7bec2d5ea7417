"""`compare` hands on what was asked for."""

from __future__ import annotations

import json

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report, Severity
from tests.cli.conftest import Cli
from tests.report.sample import probe_report


def test_compare(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both recordings and the policy reach the doctor, and the report reaches standard output."""
    calls: list[tuple[str, str, Policy]] = []

    def answer(before: str, after: str, policy: Policy) -> Report:
        calls.append((before, after, policy))
        return probe_report(command="compare")

    monkeypatch.setattr(doctor, "compare", answer)
    outcome = cli("compare", "--before", "a", "--after", "b", "--fail-on", "info", "--format", "json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["command"] == "compare"
    assert calls == [("a", "b", Policy(fail_on=Severity.INFO))]


def test_no_recording(cli: Cli) -> None:
    """A folder that is no recording is one clear line and exit code 2."""
    outcome = cli("compare", "--before", ".", "--after", ".")
    assert outcome.code == 2
    assert "recording" in outcome.err
    assert "internal error" not in outcome.err
