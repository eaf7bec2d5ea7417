"""What several formats say of the items of the checklist."""

from __future__ import annotations

from ckpt_doctor.facts.checklist import ChecklistItem, ItemStatus

EXPLAIN = "ckpt-doctor explain CODE"
"""What shows the page of an item's rule."""


def status_words(status: ItemStatus) -> str:
    """The outcome in words, as ``not evaluated``."""
    return status.value.replace("_", " ")


def codes_told(item: ChecklistItem, most: int | None = None) -> str:
    """The rules of an item, as ``DAT204, DAT205``; of more than ``most``, the first ones."""
    told = item.codes[:most]
    return ", ".join((*told, "...") if len(told) < len(item.codes) else told)
