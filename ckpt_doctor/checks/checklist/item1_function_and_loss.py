"""The resumed run computes what the uninterrupted one would have computed, and its loss goes on.

No signal sees the loss. What it follows from can be denied here (other data, another number format, more
work in a step, updates that were left out), but that it goes on can only be seen in a test.
"""

from __future__ import annotations

from ckpt_doctor.checks.answers import failed
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged

TITLE = "function and loss"
RULES = ("DAT201", "CMP309", "CMP313", "WRK501")

UNSEEN = Judged(status=ItemStatus.NOT_EVALUATED, sentence="no loss seen; assert_resumable tests it")


def judge(case: ChecklistCase) -> Judged:
    """Judge what the loss follows from."""
    return failed(case, RULES) or UNSEEN
