"""The stacks could not be sampled, so no line of the script can be named.

What it means
-------------
The verdict rests on what the agent and the kernel count. A slowdown that none of it explains stays
without a line.

How it is measured
------------------
The recording says why its stack sampler (py-spy) did not run.

How to fix it
-------------
``ckpt-doctor env`` tells what this machine needs: the ptrace scope, a container's SYS_PTRACE capability.

When it is wrong
----------------
Plain recordings are made without stacks on purpose; then this is just said.
"""

from __future__ import annotations

from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side

SIGNAL = "stacks"
"""Name under which a recording says why there are no stacks."""


def find(case: Case) -> Found | None:
    """Say why there are no stacks."""
    comparison = case.comparison
    if comparison is None or SIGNAL not in comparison.not_measured:
        return None
    why = comparison.not_measured[SIGNAL]
    return Found(
        severity=Severity.INFO,
        side=Side.NONE,
        summary=f"No stacks were sampled ({why}): no line of the script can be named.",
        remedy="Run ckpt-doctor env, which tells what the stack sampler needs on this machine.",
        evidence=(Evidence("why", why, None, "py-spy"),),
        confidence=Confidence.CONFIRMED,
    )
