"""glibc's heap thresholds are fixed, so that the heap hands no memory back between steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckpt_doctor.agent.heap import STEADY_HEAP
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding

CANNOT = (
    "Page faults of other allocators than glibc's stay, and so do those of memory that is mapped for files."
)


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Fix the thresholds from the start of the process on."""
    told = {f"env.{name}": value for name, value in STEADY_HEAP.items()}
    if all(value_at_end(comparison.after.rank, key) == value for key, value in told.items()):
        return NotThere("the heap's thresholds are fixed already")
    return PutBack(what="fixed malloc thresholds", environment=STEADY_HEAP)
