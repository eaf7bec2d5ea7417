"""The checklist that ends a probe: what was looked at, what is wrong with it, and what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.guards import Guards
    from ckpt_doctor.facts.report import Report


class ItemStatus(str, Enum):
    """What came of one item."""

    CHECKED = "checked"
    """All that it rests on was seen, and nothing is wrong with it."""
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What was made of an item. The list adds its name, its title and its rules."""

    status: ItemStatus
    sentence: str
    """In a few words: what was seen, what is wrong, or why it cannot be told."""
    codes: tuple[str, ...] = ()
    """The rules that decided it."""


@dataclass(frozen=True, kw_only=True)
class ChecklistItem(Judged):
    """One item of the list; its ``codes`` are all its rules, those that decided it first."""

    name: str
    """For programs, as ``persistent-workers``."""
    title: str
    """For people, as ``persistent workers``."""


@dataclass(frozen=True)
class ChecklistCase:
    """All that the items are decided by."""

    report: Report
    """What all rules said, without findings of rules that the project ignores."""
    comparison: Comparison
    """The two runs of the report."""
    guards: Guards | None
    """None where the script's project is not known."""
