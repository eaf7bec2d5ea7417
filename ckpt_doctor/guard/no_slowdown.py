"""Whether a training script is as fast after a resume as it was before."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from ckpt_doctor import doctor, units
from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Finding, Report, Severity, Status
from ckpt_doctor.guard.failure import Failure, remedied
from ckpt_doctor.probe.commands import started
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.readers.evidence import untold
from ckpt_doctor.report import wording

MAX_RATIO = 1.1
"""A step may take so many times as long as before: the least that most machines can tell from noise."""
SHOWN_FINDINGS = 3
SHOWN_EVIDENCE = 4

Inconclusive = Literal["fail", "pass"]
"""What becomes of an assertion where the measurement is too weak to say."""

_OURS = ("command", "output")
"""What of a request is not the caller's to choose."""


def no_slowdown(
    command: Sequence[str],
    *,
    folder: Path,
    max_ratio: float = MAX_RATIO,
    max_once_s: float = 0.0,
    inconclusive: Inconclusive = "fail",
    options: Mapping[str, Any] | None = None,
) -> Failure | None:
    """Run a script fresh and resumed, both in turns, and compare the time of their steps.

    Args:
        command: A Python script (``*.py``, or ``-m`` and a module) or another program, and its arguments.
        folder: An empty folder for both recordings.
        max_ratio: The largest ratio of the mean step times, after over before, that is no failure.
        max_once_s: What the resume may cost once, in seconds, beyond what is usual.
        inconclusive: Whether a measurement that is too weak to say fails or passes.
        options: More fields of ``ProbeRequest``, as ``resume_args``.

    Returns:
        How much slower it is, and why; or None. A slowdown is only what the probe's verdict calls one.

    Raises:
        UsageError: A value is out of range, there is no such option, or no such script.
        ScriptError: The script did not do what the measurement needs.
    """
    if max_ratio < 1.0 or max_once_s < 0.0 or inconclusive not in ("fail", "pass"):
        raise UsageError(
            f"max_ratio={max_ratio}, max_once_s={max_once_s}, inconclusive={inconclusive!r}",
            hint="max_ratio is at least 1, max_once_s at least 0, inconclusive is 'fail' or 'pass'",
        )
    report = doctor.probe(_request(command, folder, options or {}), Policy(), untold)
    verdict = report.verdict
    if verdict.status is Status.INCONCLUSIVE and inconclusive == "fail":
        return Failure(
            f"{shlex.join(command)}: {verdict.sentence}",
            (
                *((f"  Next: {verdict.next_step}",) if verdict.next_step is not None else ()),
                "  This neither shows a slowdown nor that there is none; inconclusive='pass' lets it pass.",
                f"Recordings: {folder}",
            ),
        )
    if verdict.status is not Status.SLOWER:
        return None
    return _judged(report, command, folder, max_ratio, max_once_s)


def _request(command: Sequence[str], folder: Path, options: Mapping[str, Any]) -> ProbeRequest:
    known = [field.name for field in fields(ProbeRequest) if field.name not in _OURS]
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise UsageError(f"a probe has no option {unknown}", hint=f"It takes {', '.join(known)}.")
    return ProbeRequest(command=started(command), output=folder, **options)


def _judged(
    report: Report, command: Sequence[str], folder: Path, max_ratio: float, max_once_s: float
) -> Failure | None:
    assert report.comparison is not None
    ratio = report.comparison.ratio
    serious = [finding for finding in wording.by_cost(report) if _is_serious(finding)]
    steps = [finding for finding in serious if finding.share_ratio is not None]
    once = [
        finding
        for finding in serious
        if finding.share_ratio is None and finding.delta_s is not None and finding.delta_s > max_once_s
    ]
    words: list[str] = []
    if ratio.value > max_ratio:
        allowed = units.ratio(max_ratio)
        words.append(
            f"after a resume each step takes {wording.interval(ratio)} the time before, and {allowed} is "
            "allowed"
        )
    else:
        steps = []
    if once:
        words.append(
            f"resuming costs {units.seconds(once[0].delta_s or 0.0)} once, and "
            f"{units.seconds(max_once_s)} is allowed"
        )
    if not words:
        return None
    causes = (*steps, *once)[:SHOWN_FINDINGS]
    return Failure(
        f"{shlex.join(command)}: {'; '.join(words)}.",
        (
            report.verdict.sentence,
            *(line for finding in causes for line in _told(finding, report)),
            f"Recordings: {folder}",
        ),
    )


def _is_serious(finding: Finding) -> bool:
    """Whether a finding says what makes the run slower, and was not taken away in vain."""
    refuted = finding.confirmation is not None and finding.confirmation.confirmed is False
    return finding.severity is Severity.ERROR and not refuted


def _told(finding: Finding, report: Report) -> Iterator[str]:
    traits = ", ".join(wording.traits(finding, report))
    yield f"Cause: {finding.code} {finding.name} ({finding.side.value} side, {traits}): {finding.summary}"
    for evidence in finding.evidence[:SHOWN_EVIDENCE]:
        yield f"    {evidence.what}: {wording.evidence_value(evidence)} ({evidence.source})"
    yield from remedied(finding.remedy, finding.code)
