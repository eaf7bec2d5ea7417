"""What a resume put back, and what it did not: one report, with the parts of every rank."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(str, Enum):
    """What became of one part of a state."""

    RESTORED = "restored"
    """It is as it was at the save."""
    NOT_RESTORED = "not restored"
    """The checkpoint holds it, and it could not be put back."""
    NOT_SAVED = "not saved"
    """The run has it, the checkpoint does not."""
    NOT_USED = "not used"
    """The checkpoint holds it, the run has no such part."""


@dataclass(frozen=True)
class PartReport:
    """What became of one part."""

    part: str
    """A name of ``StateKind``; or ``flags``, ``parts.<name>``."""
    outcome: Outcome
    why: str | None = None
    """Why it was not put back."""
    notes: tuple[str, ...] = ()
    """What is different from the save all the same, one sentence each."""


@dataclass(frozen=True)
class RankReport:
    """What became of the parts of one process."""

    rank: int
    parts: tuple[PartReport, ...]

    def of(self, part: str) -> PartReport | None:
        """The report on one part; None where neither the run nor the checkpoint has it."""
        return next((each for each in self.parts if each.part == part), None)


@dataclass(frozen=True)
class ResumeReport:
    """What became of a whole resume."""

    step: int
    """Steps done at the save."""
    epoch: int
    """Epoch that goes on, or begins."""
    ranks: tuple[RankReport, ...]
    checkpoint: str | None = None
    """Folder that it came from; None where the state did not come from a folder."""
    passed_over: tuple[tuple[str, str], ...] = ()
    """Newer checkpoints that are not whole: their names, and what is wrong with them."""

    @property
    def complete(self) -> bool:
        """Whether every rank got back all that it has."""
        return all(
            part.outcome in (Outcome.RESTORED, Outcome.NOT_USED) for r in self.ranks for part in r.parts
        )

    def lines(self) -> list[str]:
        """The report as text: where it came from, and everything that is not simply restored."""
        source = f" from {self.checkpoint}" if self.checkpoint else ""
        lines = [f"resumed{source} at step {self.step}, epoch {self.epoch}"]
        lines += [f"passed over {name}: {why}" for name, why in self.passed_over]
        for rank in self.ranks:
            head = f"rank {rank.rank}: " if len(self.ranks) > 1 else ""
            restored = [part.part for part in rank.parts if part.outcome is Outcome.RESTORED]
            lines.append(f"{head}restored: {', '.join(restored) or 'nothing'}")
            for part in rank.parts:
                if part.outcome is not Outcome.RESTORED:
                    why = f" ({part.why})" if part.why else ""
                    lines.append(f"{head}{part.outcome.value}: {part.part}{why}")
                lines += [f"{head}{part.part}: {note}" for note in part.notes]
        return lines
