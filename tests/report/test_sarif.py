"""The SARIF report is valid, and within what GitHub takes."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import ValidationError
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from ckpt_doctor.facts.report import Location, NotEvaluated, Report, Severity, Side, Status, Verdict
from ckpt_doctor.report.sarif import render
from tests.report.sample import cold_cache, inspect_report, measured_report, order_lost, probe_report

URI_REFERENCE = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")


def validate(text: str) -> Any:
    """A log that is valid by the published schema of SARIF 2.1.0, and that GitHub takes as it is.

    The library's model was generated from that schema: every object, what it holds, what it has to hold, and
    that it holds nothing else. What it leaves out of the schema, conditions on several properties and sets of
    different items, is checked here, and so are GitHub's limits.
    """
    SarifLog.model_validate_json(text, strict=True)
    log = json.loads(text)
    for message in _messages(log):
        assert message["text"]
    assert len(log["runs"]) <= 20
    assert len(gzip.compress(text.encode())) <= 10 * 1024**2
    for run in log["runs"]:
        rules, results = run["tool"]["driver"]["rules"], run["results"]
        assert len(rules) == len({rule["id"] for rule in rules}) <= 25_000
        for rule in rules:
            assert len(rule["properties"]["tags"]) == len(set(rule["properties"]["tags"])) <= 10
        assert len(results) <= 5_000
        for result in results:
            assert 1 <= len(result["locations"]) <= 100
            assert result["ruleId"] == rules[result["ruleIndex"]]["id"]
        for base in run.get("originalUriBaseIds", {}).values():
            assert base["uri"].endswith("/")
    return log


def _messages(part: Any) -> list[Any]:
    """All messages within a part of a log."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part["message"]] if isinstance(part, dict) and "message" in part else []
    return own + [message for each in inner for message in _messages(each)]


def parsed(report: Report) -> Any:
    """The one run of a report's log, which is valid."""
    (run,) = validate(render(report))["runs"]
    return run


def place(result: Any) -> tuple[str, int]:
    """File and line of a result."""
    assert len(result["locations"]) == 1
    physical = result["locations"][0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


def test_each_finding_is_a_result_at_a_line() -> None:
    """Cause first; level, rule and place are the finding's; the message says what it costs and the fix."""
    run = parsed(probe_report())
    first, second = run["results"]
    assert (first["ruleId"], first["level"], place(first)) == ("DAT203", "error", ("train.py", 42))
    assert "+17.1 ms/step, 96 % of the slowdown" in first["message"]["text"]
    assert "Fix: Restore the sampler's order" in first["message"]["text"]
    assert second["level"] == "warning"
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///home/user/"


def test_a_finding_without_a_line_is_at_the_call_that_it_is_about() -> None:
    """Data findings are at the DataLoader, lacking state at the save, the rest at the training loop."""
    findings = (
        order_lost(),
        order_lost(code="STA111", checkpoint="runs/x/last.pt", side=Side.DATA),
        order_lost(code="CMP301", side=Side.COMPUTE),
    )
    places = {r["ruleId"]: place(r) for r in parsed(measured_report(findings=findings))["results"]}
    assert places == {"DAT201": ("train.py", 40), "STA111": ("train.py", 50), "CMP301": ("train.py", 44)}


def test_an_inspection_is_at_its_checkpoint() -> None:
    """Where no run was seen, a finding is at the checkpoint's own file."""
    run = parsed(inspect_report())
    assert place(run["results"][0]) == ("runs/x/last.pt", 1)
    assert "originalUriBaseIds" not in run


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("runs/ä b#1?.pt", "runs/%C3%A4%20b%231%3F.pt"),
        ("/data/last.pt", "file:///data/last.pt"),
        ("s3://bucket/run/step 1", "s3://bucket/run/step%201"),
        ("bad\udcffname", "bad%ED%B3%BFname"),
    ],
)
def test_paths_become_addresses(path: str, uri: str) -> None:
    """Every path is a valid address, also with characters that addresses reserve."""
    found = place(parsed(inspect_report(findings=(order_lost(checkpoint=path),)))["results"][0])[0]
    assert found == uri
    assert URI_REFERENCE.fullmatch(found)
    assert unquote(found, errors="surrogatepass").endswith(path)


def test_the_limits_of_github() -> None:
    """At most 5000 results, the most important ones; at most ten tags a rule; what is left out is told."""
    findings = tuple(order_lost(checkpoint=f"runs/{n}.pt") for n in range(5_003))
    run = parsed(inspect_report(findings=(*findings, cold_cache())))
    assert len(run["results"]) == 5_000
    assert run["results"][0]["ruleId"] == "DAT203"
    assert all(len(rule["properties"]["tags"]) <= 10 for rule in run["tool"]["driver"]["rules"])
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(note.startswith("4 less important findings") for note in notes)


def test_a_finding_keeps_its_fingerprint() -> None:
    """The same finding is recognised after its line moved and its numbers changed, another one is not."""
    one, moved, other = (
        parsed(probe_report(findings=(finding,)))["results"][0]["partialFingerprints"]
        for finding in (
            cold_cache(),
            cold_cache(location=Location("train.py", 99), delta_s=0.02, summary="Other numbers."),
            cold_cache(location=Location("other.py", 42)),
        )
    )
    assert one == moved
    assert one != other


def test_what_is_no_result_is_a_note() -> None:
    """An open verdict, warnings and rules that could not be judged are notifications, not results."""
    verdict = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "Too noisy.")
    run = parsed(probe_report(verdict=verdict, findings=()))
    assert run["results"] == []
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert notes[0] == {"level": "warning", "message": {"text": "Too noisy."}}
    assert {note["associatedRule"]["id"] for note in notes if "associatedRule" in note} == {
        "CMP304",
        "MSR903",
    }


def test_messages_hold_no_places_and_links() -> None:
    """Braces and links of foreign texts mean nothing in a message, and nothing controls a terminal."""
    words = "{0} [click](https://example.org) \x1b[31m"
    finding = cold_cache(summary=words, severity=Severity.INFO)
    run = parsed(probe_report(findings=(finding,), not_evaluated=(NotEvaluated("CMP304", words),)))
    for message in (
        run["results"][0]["message"],
        *(note["message"] for note in run["invocations"][0]["toolExecutionNotifications"]),
    ):
        assert "](" not in message["text"]
        assert "\x1b" not in message["text"]
        assert "{0}" not in message["text"].replace("{{0}}", "")
    assert run["results"][0]["level"] == "note"


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('"version": "2.1.0",', '"version": "2.2.0",'),
        ('"level": "error"', '"level": "fatal"'),
        ('"startLine": 42', '"startLine": 0'),
        ('"startLine": 42', '"startLine": "42"'),
        ('"columnKind"', '"columnKinds"'),
        ('"executionSuccessful": true,', ""),
    ],
)
def test_what_the_schema_forbids_is_seen(was: str, becomes: str) -> None:
    """A log with a wrong value, a wrong type, a foreign property or a missing one is refused here, too."""
    text = render(probe_report())
    assert was in text
    validate(text)
    with pytest.raises(ValidationError):
        validate(text.replace(was, becomes))
