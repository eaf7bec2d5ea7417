"""The report as annotations of a GitHub job: workflow commands, one a line.

Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions. GitHub shows ten
annotations of each level that a step writes; what goes beyond stands in the job's log as plain lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ckpt_doctor.facts.report import Finding, Report, Severity, Status
from ckpt_doctor.report import wording
from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.wording.places import source_line

SUFFIXES: tuple[str, ...] = ()

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_SHOWN = 10
"""So many annotations of one level are shown."""

_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = {**_IN_TEXT, **str.maketrans({":": "%3A", ",": "%2C"})}
"""How a command holds what would end it, or one of its properties."""


def render(report: Report) -> str:
    """The verdict and each finding as a workflow command, most important first."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    findings = wording.by_cost(report)
    title = " · ".join((wording.headline(report), *wording.outcome(report)))
    level = _verdict_level(report)
    yield _command(level, report.verdict.sentence, title=title)
    shown = Counter({level: 1})
    for finding in findings:
        level = _LEVEL[finding.severity]
        shown[level] += 1
        line = _annotation(level, finding, report)
        yield line if shown[level] <= _SHOWN else f"{level}: {_title(finding)}: {_message(finding, report)}"
    for why, codes in wording.reasons(report.not_evaluated).items():
        yield f"not evaluated: {', '.join(codes)} ({harmless(why)})"


def _verdict_level(report: Report) -> str:
    if report.verdict.status is Status.INCONCLUSIVE:
        return _LEVEL[Severity.WARNING]
    worst = max(
        (finding.severity for finding in report.findings), key=lambda s: s.rank, default=Severity.INFO
    )
    return _LEVEL[worst]


def _annotation(level: str, finding: Finding, report: Report) -> str:
    location = source_line(finding, report)
    place: dict[str, str] = {}
    if location is not None:
        place = {"file": wording.relative_file(location.file, report), "line": str(location.line)}
    return _command(level, _message(finding, report), **place, title=_title(finding))


def _title(finding: Finding) -> str:
    return f"{finding.code} {finding.name}"


def _message(finding: Finding, report: Report) -> str:
    where = f"{finding.checkpoint}: " if finding.checkpoint is not None else ""
    traits = ", ".join(wording.traits(finding, report))
    return harmless(f"{where}{finding.summary} ({traits}) Fix: {finding.remedy}")


def _command(level: str, text: str, **properties: str) -> str:
    given = ",".join(
        f"{name}={harmless(value).translate(_IN_PROPERTY)}" for name, value in properties.items()
    )
    return f"::{level} {given}::{harmless(text).translate(_IN_TEXT)}"
