"""A guard in CI keeps what was found from coming back.

What the project's own files tell: a CI file that calls ckpt-doctor; or a test or recipe that uses it, and a
CI file that runs such. A CI that is set up elsewhere is not seen. The rule is the one that only a guard can
put: whether state was lost that earlier checkpoints held.
"""

from __future__ import annotations

from ckpt_doctor.checks.answers import unknown
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.guards import Guards

TITLE = "guard in CI"
RULES = ("STA146",)


def judge(case: ChecklistCase) -> Judged:
    """Judge what the project's files say."""
    if case.guards is None:
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence="the script's project is not known here")
    return unknown(case, RULES) or _seen(case.guards)


def _seen(guards: Guards) -> Judged:
    if guards.callers:
        return Judged(status=ItemStatus.CHECKED, sentence=f"{guards.callers[0]} calls ckpt-doctor")
    if guards.uses and guards.runners:
        return Judged(status=ItemStatus.CHECKED, sentence=f"{guards.uses[0]}, by {guards.runners[0]}")
    if guards.uses:
        sentence = f"{guards.uses[0]}, but no CI file is seen to run it"
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence=sentence)
    if not guards.ci_files:
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence="the project has no CI file")
    more = f" and {len(guards.ci_files) - 1} more" if len(guards.ci_files) > 1 else ""
    return Judged(status=ItemStatus.FAILED, sentence=f"no call of ckpt-doctor in {guards.ci_files[0]}{more}")
