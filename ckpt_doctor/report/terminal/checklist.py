"""The checklist that ends a report, for a person at a terminal: a line an item."""

from __future__ import annotations

from collections.abc import Iterable

from ckpt_doctor.facts.checklist import ChecklistItem, ItemStatus
from ckpt_doctor.report.terminal.screen import Screen
from ckpt_doctor.report.wording.checklist import EXPLAIN, codes_told, status_words

_MARKS = {ItemStatus.CHECKED: "[x]", ItemStatus.FAILED: "[!]", ItemStatus.NOT_EVALUATED: "[?]"}
"""Of ASCII: a terminal that lacks a sign shows a question mark for it, which means something here."""
_STYLES = {ItemStatus.CHECKED: "green", ItemStatus.FAILED: "red", ItemStatus.NOT_EVALUATED: "dim"}
_CODES = 1
"""So many rules are told of each item; the other formats tell all."""


def write_checklist(screen: Screen, items: Iterable[ChecklistItem]) -> None:
    """Write what came of each item, and the rule to look up."""
    legend = ", ".join(f"{mark} {status_words(status)}" for status, mark in _MARKS.items())
    screen.blank()
    screen.line(("Checklist", "bold"), f"  {legend}; {EXPLAIN}")
    for item in items:
        label, codes = f"{_MARKS[item.status]} {item.title}:", codes_told(item, _CODES)
        screen.labelled(label, f"{item.sentence} ({codes})", style=_STYLES[item.status], indent=2)
