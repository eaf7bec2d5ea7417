"""An earlier report, as far as a later one is held against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Interval
    from ckpt_doctor.facts.report import Finding, NotEvaluated, Verdict


@dataclass(frozen=True)
class SavedReport:
    """A report that was read back from its JSON."""

    path: str
    verdict: Verdict
    ratio: Interval | None
    """Mean step time after the resume over before, where runs were compared."""
    findings: tuple[Finding, ...]
    not_evaluated: tuple[NotEvaluated, ...]


@dataclass(frozen=True)
class BaselineDelta:
    """What a later report has that an earlier one has not."""

    new: tuple[Finding, ...]
    """Findings that the earlier report does not excuse."""
    known: tuple[Finding, ...]
    """Findings that it had as well, and that are no worse now."""
    gone: tuple[str, ...]
    """Codes that only the earlier one had."""
    costlier: bool
    """Whether the resume costs more than it did, beyond the intervals of both."""
