"""What the command says to the shell."""

from __future__ import annotations

import re

import pytest

from ckpt_doctor.cli.exit_codes import ExitCode, exit_code
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Finding, Severity, Side, Status, Verdict
from tests.cli.conftest import Cli
from tests.report.sample import cold_cache, order_lost, probe_report


def test_the_codes_are_fixed() -> None:
    """Scripts rely on these numbers."""
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "FINDINGS": 1,
        "COULD_NOT_RUN": 2,
        "INCONCLUSIVE": 3,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("findings", "fail_on", "code"),
    [
        ((), Severity.INFO, ExitCode.OK),
        ((cold_cache(),), Severity.ERROR, ExitCode.FINDINGS),
        ((order_lost(),), Severity.ERROR, ExitCode.OK),
        ((order_lost(),), Severity.WARNING, ExitCode.FINDINGS),
        ((order_lost(severity=Severity.INFO),), Severity.WARNING, ExitCode.OK),
        ((order_lost(severity=Severity.INFO),), Severity.INFO, ExitCode.FINDINGS),
    ],
)
def test_severity_against_the_policy(
    findings: tuple[Finding, ...], fail_on: Severity, code: ExitCode
) -> None:
    """Findings count from the policy's severity on."""
    assert exit_code(probe_report(findings=findings), Policy(fail_on=fail_on)) == code


@pytest.mark.parametrize(
    ("findings", "inconclusive_ok", "code"),
    [
        ((), False, ExitCode.INCONCLUSIVE),
        ((order_lost(),), False, ExitCode.INCONCLUSIVE),
        ((), True, ExitCode.OK),
        ((cold_cache(),), True, ExitCode.FINDINGS),
        ((cold_cache(),), False, ExitCode.FINDINGS),
    ],
)
def test_an_open_question(findings: tuple[Finding, ...], inconclusive_ok: bool, code: ExitCode) -> None:
    """Inconclusive is 3 unless the policy allows it, and established findings outweigh it."""
    verdict = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "Too noisy.")
    report = probe_report(verdict=verdict, findings=findings)
    assert exit_code(report, Policy(inconclusive_ok=inconclusive_ok)) == code


def test_the_help_tells_all(cli: Cli) -> None:
    """The table at the end of --help has every code and no other."""
    table = cli("--help").out.partition("Exit codes:\n")[2]
    codes = re.findall(r"^ +(\d+)  ", table, re.MULTILINE)
    assert [int(code) for code in codes] == sorted(ExitCode)
