"""What the command says to the shell. A failure of the tool looks neither like findings nor like health."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckpt_doctor.facts.policy import Policy
    from ckpt_doctor.facts.report import Report


class ExitCode(IntEnum):
    """All exit codes; ``record`` alone passes on its script's own instead."""

    OK = 0
    """Nothing at or above --fail-on."""
    FINDINGS = 1
    """Findings at or above --fail-on."""
    COULD_NOT_RUN = 2
    """Wrong usage, unreadable input, a script that failed, or a crash of ckpt-doctor itself."""
    INCONCLUSIVE = 3
    """The measurement is too weak to say; 0 with --inconclusive-ok."""
    INTERRUPTED = 130
    """Stopped with Ctrl-C: 128 + SIGINT, as shells expect."""


def exit_code(report: Report, policy: Policy) -> ExitCode:
    """The exit code of a report under a policy; established findings outweigh an open question."""
    from ckpt_doctor.facts.report import Status

    if any(finding.severity.rank >= policy.fail_on.rank for finding in report.findings):
        return ExitCode.FINDINGS
    if report.verdict.status is Status.INCONCLUSIVE and not policy.inconclusive_ok:
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK
