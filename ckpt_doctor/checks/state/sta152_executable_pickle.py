"""Loading the file without a guard would run code.

What it means
-------------
The pickle calls functions that a checkpoint has no business with: shells, files, sockets, compilers. It
has nothing to do with speed; you are about to load it all the same.

How it is measured
------------------
The names that the pickle refers to, without loading it, against a list of modules and functions that
run code of the file's choosing.

How to fix it
-------------
Do not load it unless you trust who made it. ``torch.load(path, weights_only=True)`` refuses such files;
safetensors cannot hold any.

When it is wrong
----------------
When a framework really pickles such a function, as some configurations do.
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
    names = facts.executable_globals
    if not names:
        return None
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"loading it without weights_only=True would run code: {', '.join(names[:SHOWN])}",
        remedy="do not load it unless you trust its maker; use torch.load(path, weights_only=True)",
        evidence=tuple(Evidence("name in the pickle", name, None, SOURCE) for name in names[:SHOWN]),
        checkpoint=facts.path,
    )
