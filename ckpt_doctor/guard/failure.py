"""Why an assertion does not hold, in a few lines of plain text."""

from __future__ import annotations

from dataclasses import dataclass

from ckpt_doctor.errors import CkptDoctorError
from ckpt_doctor.report.terminal.harmless import harmless


@dataclass(frozen=True)
class Failure:
    """What an assertion found wrong. As ``str`` it is what a person reads."""

    sentence: str
    """What differs, and where."""
    lines: tuple[str, ...] = ()
    """The cause, what it costs, how to fix it, where to read more."""

    def __str__(self) -> str:
        """All lines; none of them controls a terminal, whatever the user's files and names hold."""
        return "\n".join(harmless(line) for line in (self.sentence, *self.lines))


def remedied(remedy: str, code: str) -> tuple[str, str]:
    """How to fix something, and which rule's page says more."""
    return f"  Fix: {remedy}", f"  More: ckpt-doctor explain {code}"


def could_not_judge(error: CkptDoctorError) -> Failure:
    """An assertion that could not be judged: neither a resume that works nor one that does not."""
    tail = tuple(f"  | {line}" for line in error.tail)
    hint = () if error.hint is None else (f"  {error.hint}",)
    return Failure(f"ckpt-doctor cannot judge this: {error.what}", (*tail, *hint))
