"""The checklist as a whole: all items, in order, and none of them checked without its facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ckpt_doctor.checks import checklist, engine
from ckpt_doctor.checks.checklist import Item, items, judge
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus
from ckpt_doctor.facts.guards import Guards
from ckpt_doctor.facts.report import Finding, NotEvaluated, Severity, Side
from ckpt_doctor.facts.states import StateKind
from tests.builders import control, event, make_case, make_checklist_case, make_checkpoint, resumed

NAMES = (
    "function-and-loss",
    "more-than-model-saved",
    "persistent-workers",
    "recompiles-and-graphs",
    "state-restored",
    "step-times-compared",
    "guard-in-ci",
)
UNSEEN = "function-and-loss"
"""The item that a run never shows to be well."""
GUARDS = Guards(root="/home/user", ci_files=("ci.yml",), callers=("ci.yml",))


@cache
def well() -> ChecklistCase:
    """A resume of which all that can be seen was seen, and is as it should be."""
    case = make_case(control(), resumed(events=[event("load", 0, 0.2, path="ckpt.pt")]))
    return make_checklist_case(replace(case, checkpoints=(make_checkpoint(tuple(StateKind)),)), guards=GUARDS)


def bare() -> ChecklistCase:
    """A resume of which neither checkpoint nor project are known."""
    return make_checklist_case(make_case(control(), resumed()))


def slow() -> ChecklistCase:
    """A resumed run that is slower for no known cause, and whose data are not known."""
    return make_checklist_case(make_case(control(), resumed(0.018, digests=None)))


def found(code: str, severity: Severity) -> Finding:
    """A finding of a rule."""
    return Finding(code=code, name="of-a-rule", severity=severity, side=Side.NONE, summary="", remedy="")


def test_the_items_are_those_that_were_promised() -> None:
    """Seven items, in their order, each with a title of its own that leaves room in a line."""
    assert tuple(item.name for item in items()) == NAMES
    assert [item.place for item in items()] == list(range(1, len(NAMES) + 1))
    titles = [item.title for item in items()]
    assert len(set(titles)) == len(titles)
    assert max(map(len, titles)) <= 30


@pytest.mark.parametrize("item", items(), ids=lambda item: item.name)
def test_every_item_is_linked_to_rules(item: Item) -> None:
    """Each item rests on rules, and all of them are in the catalogue."""
    assert item.rules
    assert set(item.rules) <= {rule.code for rule in engine.catalogue()}


@pytest.mark.parametrize("make", [well, bare, slow])
def test_every_report_has_every_item(make: Callable[[], ChecklistCase]) -> None:
    """All items are there once, in order, each with a sentence and with rules that exist."""
    listed = judge(make())
    known = {rule.code for rule in engine.catalogue()}
    assert tuple(item.name for item in listed) == NAMES
    for item in listed:
        assert item.sentence
        assert set(item.codes) <= known
        assert len(set(item.codes)) == len(item.codes) > 0


def test_a_resume_that_is_well() -> None:
    """Everything is checked but the loss, which no run shows from outside."""
    statuses = {item.name: item.status for item in judge(well())}
    assert statuses.pop(UNSEEN) is ItemStatus.NOT_EVALUATED
    assert set(statuses.values()) == {ItemStatus.CHECKED}


@pytest.mark.parametrize("item", items(), ids=lambda item: item.name)
def test_nothing_is_checked_without_its_facts(item: Item) -> None:
    """An item one of whose rules could not be judged is not evaluated, for the reason that the rule gave."""
    usual = well()
    for code in item.rules:
        report = replace(usual.report, not_evaluated=(NotEvaluated(code, "no signal"),))
        outcome = item.judge(replace(usual, report=report))
        assert outcome.status is ItemStatus.NOT_EVALUATED, code
        if item.name != UNSEEN:
            assert (outcome.sentence, outcome.codes) == ("no signal", (code,))


@pytest.mark.parametrize("item", items()[:5], ids=lambda item: item.name)
def test_what_a_rule_found_fails_its_item(item: Item) -> None:
    """A warning is enough, also where the other rules could not be judged; a mention is not."""
    usual = well()
    for code in item.rules:
        others = tuple(NotEvaluated(other, "no signal") for other in item.rules if other != code)
        report = replace(usual.report, findings=(found(code, Severity.WARNING),), not_evaluated=others)
        outcome = item.judge(replace(usual, report=report))
        assert (outcome.status, outcome.codes) == (ItemStatus.FAILED, (code,))
        assert outcome.sentence == "of a rule"
        report = replace(usual.report, findings=(found(code, Severity.INFO),))
        assert item.judge(replace(usual, report=report)) == item.judge(usual)


def test_the_rules_that_decided_come_first() -> None:
    """Whoever looks up the first code reads the page of what was found."""
    usual = well()
    report = replace(usual.report, findings=(found("CMP304", Severity.ERROR),))
    listed = {item.name: item for item in judge(replace(usual, report=report))}
    assert listed["recompiles-and-graphs"].codes == ("CMP304", "CMP301", "CMP302", "CMP303")


def test_a_file_that_is_no_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another name in the folder is an error that says how items are named."""
    (tmp_path / "stray.py").write_text("")
    monkeypatch.setattr(checklist, "__path__", [*checklist.__path__, str(tmp_path)])
    with pytest.raises(ValueError, match="stray: an item's file is named like"):
        items.__wrapped__()
