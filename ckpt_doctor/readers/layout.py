"""Finds the framework of a checkpoint among the modules of ``readers/layouts``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from ckpt_doctor.readers import layouts
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States
from ckpt_doctor.readers.survey import Survey


class Layout(Protocol):
    """What a module of ``readers/layouts`` offers."""

    NAME: str

    def claims(self, bundle: Bundle) -> int:
        """How specific its marks are; 0 where there are none."""

    def states(self, bundle: Bundle, found: Survey) -> States:
        """The presence of every state."""


@cache
def catalogue() -> tuple[Layout, ...]:
    """All layouts by name.

    Raises:
        ValueError: A module in the folder is no well-formed layout.
    """
    found = []
    for info in pkgutil.iter_modules(layouts.__path__, f"{layouts.__name__}."):
        module = importlib.import_module(info.name)
        missing = [part for part in ("NAME", "claims", "states") if not hasattr(module, part)]
        if missing:
            raise ValueError(f"{info.name}: a layout has {', '.join(missing)}")
        found.append(cast(Layout, module))
    return tuple(sorted(found, key=lambda each: each.NAME))


def layout_of(bundle: Bundle) -> Layout:
    """The layout with the most specific claim."""
    return max(catalogue(), key=lambda each: each.claims(bundle))
