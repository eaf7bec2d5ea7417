"""All data files are in memory before each turn, and what the run drops of them stays there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.facts.treatment import TREATED, NotTested, PutBack

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "Reads that go past the page cache (O_DIRECT) stay, and so do pages that native code drops by itself, "
    "and data that free memory does not hold."
)
NEEDS = ("torch",)


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Warm the page cache; that is always possible to try."""
    return PutBack(what="data files kept in the page cache", settings={}, warm=True)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Take POSIX_FADV_DONTNEED out of what the script tells the kernel; workers inherit that."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def keep_pages(descriptor: Any, offset: int, length: int, advice: int) -> Any:
            if advice == os.POSIX_FADV_DONTNEED:
                return None
            return original(descriptor, offset, length, advice)

        return keep_pages

    if hasattr(os, "posix_fadvise"):
        recorder.wrap(os, "posix_fadvise", make)
    recorder.event(TREATED, what="data files in memory, and no page dropped")
