"""JUnit XML: the policy decides what fails, and any text is valid XML."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Location, NotEvaluated, Report, Severity, Side, Status, Verdict
from ckpt_doctor.report.junit import render
from tests.report.sample import cold_cache, inspect_report, order_lost, probe_report


def cases(report: Report) -> dict[str, ElementTree.Element]:
    """The test cases by name, after the counts were checked."""
    root = ElementTree.fromstring(render(report))
    suite = root[0]
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    found = {str(case.get("name")): case for case in suite}
    assert len(found) == len(suite) == int(suite.attrib["tests"])
    for outcome, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        number = str(len(suite.findall(f"testcase/{outcome}")))
        assert suite.get(count) == root.get(count) == number
    return found


def outcome(case: ElementTree.Element) -> str:
    """How a case ended, by its only child."""
    assert len(case) == 1
    return case[0].tag


def test_what_fails_passes_and_is_skipped() -> None:
    """An error fails, a warning passes with its words, a rule that could not be judged is skipped."""
    found = cases(probe_report())
    assert outcome(found["verdict"]) == "system-out"
    failure = found["DAT203 cold-page-cache"]
    assert outcome(failure) == "failure"
    assert (failure.get("file"), failure.get("line")) == ("train.py", "42")
    assert failure[0].get("type") == "DAT203"
    assert "Fix: Restore the sampler's order" in str(failure[0].text)
    assert "physical bytes read per step, after: 12.4 MB/step (/proc)" in str(failure[0].text)
    assert outcome(found["DAT201 data-order-not-restored"]) == "system-out"
    assert found["CMP304"][0].get("message") == "no CUDA device"


@pytest.mark.parametrize(
    ("fail_on", "failures"), [(Severity.ERROR, 1), (Severity.WARNING, 2), (Severity.INFO, 2)]
)
def test_the_policy_decides(fail_on: Severity, failures: int) -> None:
    """What --fail-on makes the exit code 1 for is a failure here."""
    found = cases(probe_report(policy=Policy(fail_on=fail_on)))
    assert [outcome(case) for case in found.values()].count("failure") == failures


@pytest.mark.parametrize(("accepted", "ending"), [(False, "error"), (True, "system-out")])
def test_an_open_verdict(accepted: bool, ending: str) -> None:
    """A measurement that is too weak to say is an error, unless the project takes it."""
    verdict = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "Too noisy.", "Use --threads 1.")
    report = probe_report(verdict=verdict, findings=(), policy=Policy(inconclusive_ok=accepted))
    case = cases(report)["verdict"]
    assert outcome(case) == ending
    assert "Next: Use --threads 1." in str(case[0].text)


def test_a_checkpoint_is_the_file() -> None:
    """A finding of an inspection points at its checkpoint."""
    assert cases(inspect_report())["STA111 sampler-state-absent"].get("file") == "runs/x/last.pt"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30).map(lambda text: f"]]><a b='\"&{text}\x00\x1b\ufffe\ud800"))
def test_any_text_is_valid_xml(words: str) -> None:
    """Whatever a key or message holds, the document parses and its words are text."""
    finding = cold_cache(summary=words, remedy=words, location=Location(words, 1), checkpoint=words)
    report = probe_report(
        findings=(finding, order_lost(name=words)),
        not_evaluated=(NotEvaluated("CMP304", words),),
        warnings=(words,),
    )
    assert len(cases(report)) == 4
