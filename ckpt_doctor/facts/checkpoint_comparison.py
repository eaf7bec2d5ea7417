"""What two checkpoints differ in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckpt_doctor.facts.states import StateKind


@dataclass(frozen=True)
class Change:
    """One property that differs: of the file, of an optimizer or of the tensors below a key."""

    what: str
    """As ``optimizer group 0: fused`` or ``model: dtypes``."""
    before: str | None
    """As people read it; None where it is not there."""
    after: str | None


@dataclass(frozen=True)
class SizeChange:
    """Bytes of tensors below a top-level key, or of everything that is no tensor."""

    key: str
    before_bytes: int | None
    """None where the key is not there."""
    after_bytes: int | None

    @property
    def growth_bytes(self) -> int:
        """How much larger it is afterwards; negative where it shrank."""
        return (self.after_bytes or 0) - (self.before_bytes or 0)


@dataclass(frozen=True)
class CheckpointComparison:
    """What changed from one checkpoint to another."""

    before: str
    """Path of the earlier checkpoint."""
    after: str
    lost: Mapping[StateKind, str]
    """States that only the earlier one has, with the place where it has them."""
    gained: Mapping[StateKind, str]
    """States that only the later one has, with the place where it has them."""
    changes: tuple[Change, ...]
    sizes: tuple[SizeChange, ...]
    """Keys whose bytes differ, the largest difference first."""
