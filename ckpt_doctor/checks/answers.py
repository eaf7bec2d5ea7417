"""What the items of the checklist share: what the answers of their rules mean for them."""

from __future__ import annotations

from collections.abc import Collection

from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.report import Severity

NAMES_TOLD = 2
"""So many findings are named; the report tells all of them above the list."""


def failed(case: ChecklistCase, rules: Collection[str]) -> Judged | None:
    """An item that some of its rules have found something against; None where they found nothing.

    What is only mentioned (info) says nothing against it.
    """
    found = {
        f.code: f.name.replace("-", " ")
        for f in case.report.findings
        if f.code in rules and f.severity is not Severity.INFO
    }
    if not found:
        return None
    return Judged(status=ItemStatus.FAILED, sentence=enumerated(list(found.values())), codes=tuple(found))


def unknown(case: ChecklistCase, rules: Collection[str]) -> Judged | None:
    """An item one of whose rules could not be judged, and why; None where all of them were."""
    missing = [rule for rule in case.report.not_evaluated if rule.code in rules]
    if not missing:
        return None
    why = missing[0].why
    for checkpoint in case.report.checkpoints:
        why = why.removeprefix(f"{checkpoint.path}: ")
    codes = tuple(rule.code for rule in missing)
    return Judged(status=ItemStatus.NOT_EVALUATED, sentence=why, codes=codes)


def enumerated(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    left = len(names) - NAMES_TOLD
    return ", ".join(names[:NAMES_TOLD]) + (f" and {left} more" if left > 0 else "")
