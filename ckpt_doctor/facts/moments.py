"""What can happen within a step: the kinds of moments that an agent writes down and a reader makes steps of.

The first kinds are the parts of a step (``facts.run.PARTS``), each of which begins at its moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.facts.run import PARTS

DATA_WAIT, COMPILE, FORWARD, BACKWARD, OPTIMIZER, GC, SAVING, REST = range(len(PARTS))
OBSERVER = len(PARTS)
"""The agent's own work within a step: kept apart, and in no part of the step."""

END = OBSERVER + 1
"""The innermost part ended."""
FED = END + 1
"""The innermost part ended with a batch, which is told of apart; forward begins, and the observer looks at
the batch."""
UPDATE = FED + 1
"""An optimizer has done, or skipped, an update; if that was the innermost part, it ended."""
TAKE = UPDATE + 1
"""It has, and the step ended there."""
HELD = TAKE + 1
"""The observer has done what it does after a step; what follows is no work of its own."""
START = HELD + 1
"""The next step begins; what lies between is in no step."""
OVER = START + 1
"""The innermost part ended, and what follows outside all parts is the rest."""
KINDS = OVER + 1

MAX_DIGESTS = 16
"""Digests kept for one step: a replay of an epoch draws thousands of batches in one."""

Shape = Sequence[int]
