"""What a project demands of its runs and checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

from ckpt_doctor.facts.report import Severity


@dataclass(frozen=True)
class Policy:
    """A project's own rules about findings: the table ``[tool.ckpt-doctor]`` and the options."""

    required: frozenset[str] = frozenset()
    """State kinds (values of StateKind) that every checkpoint has to hold."""
    ignored: frozenset[str] = frozenset()
    """Codes of rules whose findings are left out."""
    fail_on: Severity = Severity.ERROR
    """The least severity that counts as a failure."""
    inconclusive_ok: bool = False
    """Whether a measurement that is too weak to say anything counts as a success."""
