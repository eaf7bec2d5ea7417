"""The report for whatever reads test results: JUnit's XML.

There is no standard; the elements and attributes are those that Jenkins, GitLab and GitHub's actions
agree on (https://github.com/testmoapp/junitxml). A finding that fails the run by its policy is a failure,
another one passes with its words as output, a rule that could not be judged is skipped, and a measurement
that is too weak to say is an error.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Finding, Report, Status
from ckpt_doctor.report import wording
from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.wording.places import source_line

SUFFIXES = (".xml",)

_NO_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""

_PACKAGE = "ckpt_doctor"


def render(report: Report) -> str:
    """The report as an XML document of one test suite."""
    suite = ElementTree.Element("testsuite", name=f"ckpt-doctor {report.command}")
    _verdict(suite, report)
    for finding in wording.by_cost(report):
        _finding(suite, finding, report)
    for item in report.not_evaluated:
        case = _case(suite, "rules", item.code)
        ElementTree.SubElement(case, "skipped", message=_xml(item.why))
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    root = ElementTree.Element("testsuites", {"name": "ckpt-doctor"})
    for element in (root, suite):
        element.attrib.update({name: str(count) for name, count in counts.items()})
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _verdict(suite: ElementTree.Element, report: Report) -> None:
    case = _case(suite, report.command, "verdict")
    verdict = report.verdict
    told = [" · ".join((wording.headline(report), *wording.outcome(report))), verdict.sentence]
    told += [f"Next: {verdict.next_step}"] if verdict.next_step is not None else []
    told += [f"Note: {warning}" for warning in report.warnings]
    if verdict.status is Status.INCONCLUSIVE and not _policy(report).inconclusive_ok:
        element = ElementTree.SubElement(
            case, "error", type=verdict.status.value, message=_xml(verdict.sentence)
        )
    else:
        element = ElementTree.SubElement(case, "system-out")
    element.text = _lines(told)


def _finding(suite: ElementTree.Element, finding: Finding, report: Report) -> None:
    case = _case(suite, finding.side.value, f"{finding.code} {finding.name}")
    location = source_line(finding, report)
    if location is not None:
        case.set("file", _xml(wording.relative_file(location.file, report)))
        case.set("line", str(location.line))
    elif finding.checkpoint is not None:
        case.set("file", _xml(finding.checkpoint))
    told = [finding.summary, " · ".join(wording.traits(finding, report))]
    told += [f"In: {finding.checkpoint}"] if finding.checkpoint is not None else []
    told += [f"{each.what}: {wording.evidence_value(each)} ({each.source})" for each in finding.evidence]
    if finding.confirmation is not None:
        told.append(f"Test: {wording.test_result(finding.confirmation)}")
    told.append(f"Fix: {finding.remedy}")
    if finding.severity.rank >= _policy(report).fail_on.rank:
        element = ElementTree.SubElement(case, "failure", type=finding.code, message=_xml(finding.summary))
    else:
        element = ElementTree.SubElement(case, "system-out")
    element.text = _lines(told)


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"{_PACKAGE}.{group}", name=_xml(name))


def _policy(report: Report) -> Policy:
    return report.policy or Policy()


def _lines(lines: list[str]) -> str:
    return "\n".join(_xml(line) for line in lines)


def _xml(text: str) -> str:
    """One line of text from anywhere, of characters that XML can hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", harmless(text))
