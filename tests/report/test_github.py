"""Annotations of a GitHub job: one command a line, at the user's source."""

from __future__ import annotations

import re

import pytest

from ckpt_doctor.facts.report import Evidence, Location, NotEvaluated, Severity, Side, Status, Verdict
from ckpt_doctor.report.github import render
from tests.report.sample import cold_cache, inspect_report, order_lost, probe_report

COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:]*)(?:,\w+=[^,:]*)*)::(.*)")


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The workflow commands of a text: level, properties, message."""
    found = []
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        if match is not None:
            properties = dict(item.split("=", 1) for item in match[2].split(","))
            found.append((match[1], properties, match[3]))
    return found


def test_the_verdict_and_each_finding() -> None:
    """The verdict comes first, at the level of its worst finding; each finding is at its line."""
    verdict, cause, other = commands(render(probe_report()))
    assert verdict[0] == "error"
    assert verdict[1]["title"].startswith("SLOWER 1.53×")
    assert cause[0] == "error"
    assert cause[1] == {"file": "train.py", "line": "42", "title": "DAT203 cold-page-cache"}
    assert "Fix: Restore the sampler's order" in cause[2]
    assert other[0] == "warning"


def test_a_checkpoint_is_named() -> None:
    """A finding of an inspection has no line, and names its checkpoint."""
    finding = commands(render(inspect_report()))[1]
    assert set(finding[1]) == {"title"}
    assert finding[2].startswith("runs/x/last.pt: ")


def test_an_open_verdict_warns_and_a_healthy_one_is_a_notice() -> None:
    """Inconclusive is a warning, healthy a notice, and what could not be judged is told as plain lines."""
    open_verdict = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "Too noisy.")
    text = render(probe_report(verdict=open_verdict, findings=()))
    assert [level for level, _, _ in commands(text)] == ["warning"]
    assert "not evaluated: CMP304 (no CUDA device)" in text
    healthy = Verdict(Status.HEALTHY, Side.NONE, None, None, "All there.")
    assert [c[0] for c in commands(render(inspect_report(verdict=healthy, findings=())))] == ["notice"]


def test_what_github_would_not_show_is_in_the_log() -> None:
    """Beyond ten annotations of a level the findings are plain lines, so that none is lost."""
    findings = [order_lost(code=f"STA{n}", name=f"lost-{n}") for n in range(101, 115)]
    findings += [cold_cache(severity=Severity.INFO)]
    text = render(inspect_report(findings=tuple(findings)))
    levels = [level for level, _, _ in commands(text)]
    assert levels.count("warning") == 10
    assert levels.count("notice") == 1
    for finding in findings:
        assert finding.name in text


@pytest.mark.parametrize("words", ["a\n::error::b", "100%, a: b", "\x1b[31m", "\r::stop-commands::x"])
def test_nothing_from_outside_is_a_command(words: str) -> None:
    """Foreign texts neither start a command nor end a property, whatever they hold."""
    finding = cold_cache(
        summary=words,
        remedy=words,
        evidence=(Evidence(words, words, words, words),),
        location=Location(words, 3),
    )
    text = render(probe_report(findings=(finding,), not_evaluated=(NotEvaluated("CMP304", words),)))
    assert [level for level, _, _ in commands(text)] == ["error", "error"]
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text
