"""What is told to people and machines: findings, the verdict, and what could not be judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ckpt_doctor.facts.checklist import ChecklistItem
    from ckpt_doctor.facts.checkpoint import CheckpointFacts
    from ckpt_doctor.facts.checkpoint_comparison import CheckpointComparison
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.policy import Policy
    from ckpt_doctor.facts.shape import Shape
    from ckpt_doctor.facts.treatment import Confirmation

SCHEMA_VERSION = 1


class Severity(str, Enum):
    """How much a finding matters; ``rank`` orders them."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return list(Severity).index(self)


class Side(str, Enum):
    """Where the time goes."""

    DATA = "data"
    COMPUTE = "compute"
    HOST = "host"
    WORK = "work"
    NONE = "none"
    NOT_ESTABLISHED = "not_established"


class Confidence(str, Enum):
    """How well a cause is proved."""

    CONFIRMED = "confirmed"
    """Part of the budget and counter agree, or removing the cause gave the time back."""
    SUPPORTED = "supported"
    """A counter moved and the time fits, but not beyond doubt."""
    SUSPECTED = "suspected"
    """Only one of the two."""


class Status(str, Enum):
    """The outcome as one word."""

    SLOWER = "slower"
    SAME = "same"
    FASTER = "faster"
    INCONCLUSIVE = "inconclusive"
    HEALTHY = "healthy"
    FINDINGS = "findings"


class Evidence(NamedTuple):
    """One number that supports a finding."""

    what: str
    value: float | int | str | bool | None
    unit: str | None
    source: str
    """Where it was measured, as ``agent``, ``/proc``, ``checkpoint``, ``py-spy``."""


class Location(NamedTuple):
    """A line of the user's source."""

    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a rule found. The engine adds the rule's code and name."""

    severity: Severity
    side: Side
    summary: str
    """One sentence with the numbers in it."""
    remedy: str
    """What to change, as concrete as it can be said."""
    evidence: tuple[Evidence, ...] = ()
    confidence: Confidence = Confidence.SUPPORTED
    share_ratio: float | None = None
    """Part of the slowdown that this explains, 0 to 1; None where it is not about step time."""
    delta_s: float | None = None
    """Seconds per step (lasting shapes) or in all (one-time) that this costs."""
    shape: Shape | None = None
    location: Location | None = None
    checkpoint: str | None = None
    """Path of the checkpoint that it is about."""


@dataclass(frozen=True, kw_only=True)
class Finding(Found):
    """A rule's finding, with the rule's code and name."""

    code: str
    name: str
    confirmation: Confirmation | None = None
    """What came of taking the cause away; None where that was not tried."""


class CannotTell(NamedTuple):
    """What a rule returns when the facts that it needs are missing."""

    why: str


class NotEvaluated(NamedTuple):
    """A rule that could not be judged, and why."""

    code: str
    why: str


@dataclass(frozen=True)
class Case:
    """All facts about one question, as the rules get them."""

    comparison: Comparison | None = None
    checkpoints: tuple[CheckpointFacts, ...] = ()
    required: frozenset[str] = frozenset()
    """State kinds that the project demands (values of StateKind)."""
    checkpoint_comparison: CheckpointComparison | None = None
    """What two checkpoints differ in, where that is the question."""


class Verdict(NamedTuple):
    """The answer."""

    status: Status
    side: Side
    cause: str | None
    """Code of the first cause."""
    confidence: Confidence | None
    sentence: str
    """The answer as one sentence."""
    next_step: str | None = None
    """What to measure or do next where the answer is not established."""


@dataclass(frozen=True)
class Report:
    """All that a command found out."""

    command: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    not_evaluated: tuple[NotEvaluated, ...]
    comparison: Comparison | None = None
    checkpoints: tuple[CheckpointFacts, ...] = ()
    warnings: tuple[str, ...] = ()
    """What a reader should know about the measurement, one sentence each."""
    context: Mapping[str, str] = field(default_factory=dict)
    """Where the recordings lie, the command that was probed, ..."""
    schema_version: int = SCHEMA_VERSION
    checkpoint_comparison: CheckpointComparison | None = None
    """What two checkpoints differ in, where that was asked."""
    policy: Policy | None = None
    """The rules of the project that it was judged by; None where there were none but the usual ones."""
    checklist: tuple[ChecklistItem, ...] = ()
    """What a resume should be looked at for, item by item; empty where no two recordings were compared."""
