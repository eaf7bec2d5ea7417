"""Reads a report back from its JSON (``report/schema.json``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ckpt_doctor.errors import InputError
from ckpt_doctor.facts.baseline import SavedReport
from ckpt_doctor.facts.comparison import Interval, Shape
from ckpt_doctor.facts.report import (
    SCHEMA_VERSION,
    Confidence,
    Evidence,
    Finding,
    Location,
    NotEvaluated,
    Severity,
    Side,
    Status,
    Verdict,
)

MAX_BYTES = 8_000_000
"""Longer files are no reports: a trace of gigabytes may begin with a brace, too."""

Json = dict[str, Any]


def is_report(path: str) -> bool:
    """Whether a path is a file that says of itself that it is a report of ours."""
    document = _document(path)
    return document is not None and "schema_version" in document and _tool(document) == "ckpt-doctor"


def read_report(path: str) -> SavedReport:
    """Read one report.

    Raises:
        InputError: It is none, of an unknown version, or damaged.
    """
    document = _document(path)
    if document is None or _tool(document) != "ckpt-doctor":
        raise InputError(f"{path}: this is no report", hint="write one with -o report.json")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"{path}: version {document.get('schema_version')!r} of a report is not known here",
            hint="read it with the version of ckpt-doctor that made it, or a newer one",
        )
    try:
        return _report(path, document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: the report is damaged ({type(error).__name__}: {error})", hint="write it again"
        ) from error


def _document(path: str) -> Json | None:
    """The JSON object in a file; None where there is no such file, or something else in it."""
    try:
        with Path(path).open("rb") as file:
            if file.read(1) != b"{":
                return None
            text = b"{" + file.read(MAX_BYTES)
        if len(text) > MAX_BYTES:
            return None
        value = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _tool(document: Json) -> object:
    tool = document.get("tool")
    return tool.get("name") if isinstance(tool, dict) else None


def _report(path: str, document: Json) -> SavedReport:
    verdict = document["verdict"]
    confidence = verdict["confidence"]
    return SavedReport(
        path=path,
        verdict=Verdict(
            status=Status(verdict["status"]),
            side=Side(verdict["side"]),
            cause=verdict["cause"],
            confidence=None if confidence is None else Confidence(confidence),
            sentence=str(verdict["sentence"]),
            next_step=verdict["next_step"],
        ),
        ratio=_ratio(verdict),
        findings=tuple(_finding(each) for each in document["findings"]),
        not_evaluated=tuple(
            NotEvaluated(str(each["code"]), str(each["why"])) for each in document["not_evaluated"]
        ),
    )


def _ratio(verdict: Json) -> Interval | None:
    value, low, high = (verdict[name] for name in ("ratio", "ratio_low", "ratio_high"))
    if value is None or low is None or high is None:
        return None
    return Interval(float(value), float(low), float(high))


def _finding(found: Json) -> Finding:
    shape, location = found["shape"], found.get("shown_at") or found["location"]
    return Finding(
        code=str(found["code"]),
        name=str(found["name"]),
        severity=Severity(found["severity"]),
        side=Side(found["side"]),
        summary=str(found["summary"]),
        remedy=str(found["remedy"]),
        evidence=tuple(
            Evidence(str(each["what"]), each["value"], each["unit"], str(each["source"]))
            for each in found["evidence"]
        ),
        confidence=Confidence(found["confidence"]),
        share_ratio=found["share_ratio"],
        delta_s=found["delta_s"],
        shape=None if shape is None else Shape(shape),
        location=None if location is None else Location(str(location["file"]), int(location["line"])),
        checkpoint=found.get("checkpoint"),
    )
