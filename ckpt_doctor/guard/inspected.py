"""A checkpoint as the assertions see it, and what they say of the states that it lacks."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ckpt_doctor import doctor
from ckpt_doctor.checks.absences import telling
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Finding, Report
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.guard.failure import remedied


def inspected(path: str | os.PathLike[str], required: Iterable[StateKind] = ()) -> Report:
    """The report on one checkpoint.

    Args:
        path: A file or a folder, or an address that fsspec knows.
        required: States whose absence some rule has to tell.

    Raises:
        CheckpointError: It cannot be read as a checkpoint.
    """
    policy = Policy(required=frozenset(kind.value for kind in required))
    report, errors = doctor.inspect((os.fspath(path),), policy)
    if errors:
        raise errors[0]
    return report


def told(report: Report, kinds: Iterable[StateKind]) -> tuple[str, ...]:
    """What is said of states that a checkpoint lacks: the cost and the remedy, once for each rule.

    Args:
        report: The report on it, for which they were required.
        kinds: The states.
    """
    (facts,) = report.checkpoints
    names: dict[Finding, list[str]] = {}
    for kind in kinds:
        finding = telling(report.findings, facts, kind)
        assert finding is not None, f"{kind.value} is required and absent, and no rule says so"
        names.setdefault(finding, []).append(kind.value)
    return tuple(line for finding, called in names.items() for line in _lines(finding, called))


def _lines(finding: Finding, called: list[str]) -> tuple[str, ...]:
    return (
        f"Missing: {', '.join(called)} ({finding.code} {finding.name})",
        f"  Cost: {finding.summary}",
        *remedied(finding.remedy, finding.code),
    )
