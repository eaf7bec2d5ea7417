"""Parts of the checkpoint are missing, damaged or cut short.

What it means
-------------
A resume fails, or goes on with parts of the state missing on some ranks.

How it is measured
------------------
Every file that an index, a DCP metadata file or the numbers in the names imply must be there in full;
every storage that a pickle refers to must be in its archive, in the size that it declares.

How to fix it
-------------
Take an earlier checkpoint, copy this one again, and find out why the save was cut short: a full disk, a
job that was killed while saving.

When it is wrong
----------------
When the folder is still being written, or the parts lie on other nodes by design.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side

SHOWN = 5


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each checkpoint."""
    return tuple(found for facts in case.checkpoints if (found := _judge(facts)) is not None) or None


def _judge(facts: CheckpointFacts) -> Found | None:
    missing = facts.missing_parts
    if not missing:
        return None
    more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    return Found(
        severity=Severity.ERROR,
        side=Side.NONE,
        summary=f"the checkpoint is incomplete: {missing[0]}{more}",
        remedy="take an earlier checkpoint or copy this one again, and find out why the save was cut short",
        evidence=tuple(Evidence("missing", each, None, SOURCE) for each in missing[:SHOWN]),
        checkpoint=facts.path,
    )
