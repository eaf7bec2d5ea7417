"""What is asked of a repair of a checkpoint, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Finding


@dataclass(frozen=True, kw_only=True)
class RepairRequest:
    """A checkpoint of which a repaired copy is wanted."""

    path: str
    """A file or folder of this machine."""
    output: str | None
    """Where the copy goes; None where nothing is to be written."""
    only: frozenset[str] = frozenset()
    """Codes of the rules whose findings are repaired; empty for all."""
    skipped: frozenset[str] = frozenset()
    """Codes of the rules whose findings are left alone."""
    dropped_names: frozenset[str] = frozenset()
    """Names of optimizer state to drop that no optimizer known here uses."""
    allow_overwrite: bool = False
    """Replace what stands in the output's place."""


@dataclass(frozen=True)
class Change:
    """One thing that a repair did."""

    where: str
    """File (for folders) and key path."""
    what: str
    """What was done, with its numbers."""
    is_exact: bool = True
    """Whether every value that is left is the same to the last bit."""
    payload_bytes: int = 0
    """Bytes saved that are no tensors."""


@dataclass(frozen=True)
class Kept:
    """One thing that a repair did not do."""

    where: str
    why: str


@dataclass(frozen=True)
class Repair:
    """All that one repair did and did not do."""

    code: str
    name: str
    changes: tuple[Change, ...]
    kept: tuple[Kept, ...]
    saved_bytes: int
    """Bytes of storages and of what is no tensor that the copy does without."""


@dataclass(frozen=True)
class RepairOutcome:
    """A checkpoint and its repaired copy."""

    before: CheckpointFacts
    after: CheckpointFacts | None
    """The copy as it was read again; None where nothing was written."""
    output: str | None
    repairs: tuple[Repair, ...]
    """In the order in which they were applied; without those that found nothing to do."""
    skipped: tuple[str, ...]
    """Codes of findings that have a repair, which was not wanted."""
    remaining: tuple[Finding, ...]
    """What is still found: in the copy, or in the checkpoint where nothing was written and nothing done."""

    @property
    def has_changes(self) -> bool:
        """Whether the copy differs from the checkpoint."""
        return any(repair.changes for repair in self.repairs)

    @property
    def is_exact(self) -> bool:
        """Whether every value that is left is the same to the last bit."""
        return all(change.is_exact for repair in self.repairs for change in repair.changes)

    @property
    def saved_bytes(self) -> int:
        """Bytes of storages and of what is no tensor that the copy does without."""
        return sum(repair.saved_bytes for repair in self.repairs)
