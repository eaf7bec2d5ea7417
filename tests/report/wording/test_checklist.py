"""The words about the items of the checklist."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.facts.checklist import ItemStatus
from ckpt_doctor.report.wording.checklist import codes_told, status_words
from tests.report.sample import checklist


def test_rules_are_told_as_far_as_there_is_room() -> None:
    """All of them, or the first ones and a sign that there are more."""
    item = replace(checklist()[0], codes=("DAT201", "CMP309", "WRK501"))
    assert codes_told(item) == codes_told(item, 3) == "DAT201, CMP309, WRK501"
    assert codes_told(item, 1) == "DAT201, ..."


def test_the_outcome_in_words() -> None:
    """No underscore reaches a person."""
    assert [status_words(status) for status in ItemStatus] == ["checked", "failed", "not evaluated"]
