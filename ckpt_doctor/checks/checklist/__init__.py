"""The checklist: its items are found by scanning this folder, and put to a report.

An item is one module named after its place in the list and after itself, as
``item3_persistent_workers.py``. It has

- ``TITLE``, its name for people,
- ``RULES``, codes of the rules that it rests on, and
- ``judge(case)``, which makes a ``Judged`` of a ``ChecklistCase``.

Only what was seen is called checked: an item one of whose rules could not be judged is not evaluated,
unless something was found against it.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ckpt_doctor.facts.checklist import ChecklistCase, ChecklistItem, Judged

_MODULE_NAME = re.compile(r"item(?P<place>\d)_(?P<name>[a-z0-9_]+)")


class Item(NamedTuple):
    """One item: its place and name from its file name, the rest from its module."""

    place: int
    name: str
    title: str
    rules: tuple[str, ...]
    judge: Callable[[ChecklistCase], Judged]


@cache
def items() -> tuple[Item, ...]:
    """All items, in the order of the list.

    Raises:
        ValueError: A module is not named like an item.
        AttributeError: A module lacks what an item must have.
    """
    return tuple(sorted(_load(info.name) for info in pkgutil.iter_modules(__path__)))


def judge(case: ChecklistCase) -> tuple[ChecklistItem, ...]:
    """Put a report to every item of the list."""
    return tuple(_judged(item, case) for item in items())


def _load(name: str) -> Item:
    path = f"{__name__}.{name}"
    match = _MODULE_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{path}: an item's file is named like item3_persistent_workers.py")
    module = importlib.import_module(path)
    return Item(
        int(match["place"]), match["name"].replace("_", "-"), module.TITLE, module.RULES, module.judge
    )


def _judged(item: Item, case: ChecklistCase) -> ChecklistItem:
    outcome = item.judge(case)
    return ChecklistItem(
        name=item.name,
        title=item.title,
        status=outcome.status,
        sentence=outcome.sentence,
        codes=tuple(dict.fromkeys((*outcome.codes, *item.rules))),
    )
