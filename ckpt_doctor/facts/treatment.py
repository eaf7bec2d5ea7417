"""A suspected cause that is taken away on trial: what is put back in one more run, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Interval

TRIAL_PREFIX = "confirm-"
"""How the names of treated runs begin."""
TREATED, UNTREATED = "treatment", "untreated"
"""Events of a treated run: what was put back in it (``what``), or why that failed (``why``)."""


@dataclass(frozen=True, kw_only=True)
class PutBack:
    """What a treatment puts back to how it was in the control."""

    what: str
    """In a few words, as ``num_workers=2``."""
    settings: Mapping[str, object] | None = None
    """For the agent inside of the run, as JSON can carry it; None where it has nothing to do."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables of the run; None takes one out."""
    warm: bool = False
    """Whether all data files are in memory before the run starts, and before each of its turns."""


@dataclass(frozen=True)
class NotTested:
    """Why a cause was not taken away, or why that tells nothing."""

    why: str


@dataclass(frozen=True)
class NotThere(NotTested):
    """Why there is nothing to take away: all that could be put back is as it is in the control."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One more resumed run, in which one suspected cause is taken away and nothing else is changed."""

    code: str
    """The rule whose finding is tested."""
    is_lasting: bool
    """Whether the finding is about the time of every step, and not about the start of the run."""
    put_back: PutBack
    cannot: str
    """What this treatment cannot take away, as one sentence."""

    @property
    def name(self) -> str:
        """Name of the treated run, and of the phase in which it takes turns."""
        return f"{TRIAL_PREFIX}{self.code}"


@dataclass(frozen=True)
class Recovery:
    """What came back of the time that a cause costs."""

    recovered_s: float
    of_s: float
    """What the cause costs, in seconds per step or once."""
    share: Interval
    """``recovered_s`` over ``of_s`` with its 95 % interval; above 1 where more came back than was blamed."""


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Whether a suspected cause is the cause, as far as taking it away tells."""

    confirmed: bool | None
    """None where it is open: the cause could not be taken away, or the numbers do not settle it."""
    is_lasting: bool = True
    """Whether the time of every step was tested, and not the start of the run."""
    treatment: str | None = None
    """What was put back; None where nothing could be."""
    cannot: str | None = None
    """What the treatment cannot take away."""
    recovery: Recovery | None = None
    why: str | None = None
    """Why it is open."""
    sentence: str
    """The outcome in words, as ``confirmed by removal: 7.40 ms of 7.90 ms/step came back (94 %)``."""
