"""The report for code scanning: SARIF 2.1.0.

Format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, within what GitHub takes
(https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support): the
most important 5000 results of a run are shown, and ten tags of a rule. GitHub shows no result without a
place: each is at a line of the user's source, and at the checkpoint's own file where no run was seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ckpt_doctor import __version__
from ckpt_doctor.facts.report import Finding, Location, NotEvaluated, Report, Severity, Status
from ckpt_doctor.report import wording
from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.wording.pages import page
from ckpt_doctor.report.wording.places import source_line

SUFFIXES = (".sarif",)

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_RESULTS = 5_000
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SOURCE_ROOT = "%SRCROOT%"
"""What relative addresses are relative to: the folder in which the script ran."""

Json = dict[str, Any]


def render(report: Report) -> str:
    """The report as one SARIF log of one run."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report)]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _run(report: Report) -> Json:
    findings = wording.by_cost(report)[:_MOST_RESULTS]
    codes = list(dict.fromkeys(finding.code for finding in findings))
    firsts = [next(finding for finding in findings if finding.code == code) for code in codes]
    run: Json = {
        "tool": {
            "driver": {
                "name": "ckpt-doctor",
                "version": __version__,
                "rules": [_rule(finding) for finding in firsts],
            }
        },
        "automationDetails": {"id": f"ckpt-doctor/{report.command}/"},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notes(report)}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code), report) for finding in findings],
        "properties": {
            "verdict": report.verdict.status.value,
            "side": report.verdict.side.value,
            "cause": report.verdict.cause,
        },
    }
    if report.comparison is not None:
        root = PurePath(report.comparison.after.run.meta.cwd)
        if root.is_absolute():
            run["originalUriBaseIds"] = {_SOURCE_ROOT: {"uri": f"{_file_uri(root)}/"}}
    return run


def _rule(finding: Finding) -> Json:
    rule: Json = {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": _message(finding.name.replace("-", " ")),
        "defaultConfiguration": {"level": _LEVEL[finding.severity]},
        "properties": {"tags": ["performance", finding.side.value]},
    }
    text = page(finding.code)
    if text is not None:
        rule["help"] = {"text": text, "markdown": text}
    return rule


def _result(finding: Finding, rule_index: int, report: Report) -> Json:
    location = source_line(finding, report)
    address = _address(finding, location, report)
    cost = wording.cost(finding)
    summary = finding.summary if cost is None else f"{finding.summary} ({cost})"
    tested = finding.confirmation
    where = f" In {finding.checkpoint}." if finding.checkpoint is not None else ""
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVEL[finding.severity],
        "message": _message(f"{summary}{where} Fix: {finding.remedy}"),
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": address,
                    "region": {"startLine": max(1, location.line) if location is not None else 1},
                }
            }
        ],
        "partialFingerprints": {"finding/v1": _fingerprint(finding, address["uri"])},
        "properties": {
            "confidence": finding.confidence.value,
            **({"test": harmless(wording.test_result(tested))} if tested is not None else {}),
            "evidence": [
                harmless(f"{each.what}: {wording.evidence_value(each)} ({each.source})")
                for each in finding.evidence
            ],
        },
    }


def _address(finding: Finding, location: Location | None, report: Report) -> Json:
    """An artifactLocation: relative where the file lies below the folder in which the script ran."""
    file = wording.relative_file(location.file, report) if location is not None else finding.checkpoint or "."
    if "://" in file:
        return {"uri": quote(file, safe=":/?&=%4766,;~", errors="surrogatepass")}
    path = PurePath(file)
    if path.is_absolute():
        return {"uri": _file_uri(path)}
    return {"uri": quote(path.as_posix(), errors="surrogatepass"), "uriBaseId": _SOURCE_ROOT}


def _file_uri(path: PurePath) -> str:
    """The address of an absolute path; names that are no Unicode keep their bytes."""
    return f"file:///{quote(path.as_posix().lstrip('/'), errors='surrogatepass')}"


def _fingerprint(finding: Finding, uri: str) -> str:
    """What stays the same while the source moves: the rule, the file, the checkpoint."""
    words = "\0".join((finding.code, uri, finding.checkpoint or ""))
    return hashlib.sha256(words.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _notes(report: Report) -> Sequence[Json]:
    """What is no result: an open verdict, what a reader should know, rules that could not be judged."""
    notes = [_note(warning) for warning in report.warnings]
    if report.verdict.status is Status.INCONCLUSIVE:
        notes.insert(0, _note(report.verdict.sentence, level="warning"))
    if len(report.findings) > _MOST_RESULTS:
        notes.append(_note(f"{len(report.findings) - _MOST_RESULTS} less important findings are left out"))
    return [*notes, *(_unknown(item) for item in report.not_evaluated)]


def _unknown(item: NotEvaluated) -> Json:
    return {**_note(f"{item.code} was not evaluated: {item.why}"), "associatedRule": {"id": item.code}}


def _note(text: str, *, level: str = "note") -> Json:
    return {"level": level, "message": _message(text)}


def _message(text: str) -> Json:
    """Text from anywhere as a message: braces hold places and brackets links in SARIF's messages."""
    plain = harmless(text).replace("{", "{{").replace("}", "}}")
    return {"text": plain.replace("](", "] (")}
