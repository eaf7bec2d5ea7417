"""Arguments of the data loader are stored in the checkpoint.

What it means
-------------
A script that takes its settings from the checkpoint on resume takes the number of workers, the cache
mode and the like along: old values win over those of the command line, on a machine for which they may
be wrong.

How it is measured
------------------
Settings such as ``num_workers``, ``prefetch_factor`` or ``pin_memory`` within the file. Frameworks that
keep them for the record only are left alone.

How to fix it
-------------
Pass the loader's arguments anew on resume, or leave them out of what is saved.

When it is wrong
----------------
When the script ignores the stored settings: that is why it is info.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE, is_present, presence
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

KIND = StateKind.LOADER_ARGUMENTS


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each checkpoint."""
    return tuple(found for facts in case.checkpoints if (found := _judge(facts)) is not None) or None


def _judge(facts: CheckpointFacts) -> Found | None:
    known = presence(facts, KIND)
    if not is_present(facts, KIND) or known.detail is not None:
        return None
    return Found(
        severity=Severity.INFO,
        side=Side.DATA,
        summary=f"the loader's arguments are stored at {known.where}: they may win over the command line",
        remedy="pass the loader's arguments anew on resume, or leave them out of what is saved",
        evidence=(Evidence("arguments of the loader", known.where, None, SOURCE),),
        checkpoint=facts.path,
    )
