"""The resumed run has its state back, as far as the state of a process can be seen from outside.

A checkpoint was loaded, the data go on where they were, and the optimizer is as it was: class, groups,
options, sizes, types and devices. What the file lacks cannot have come back. Whether the generators and the
schedule that it does hold were put back is not seen, which the sentence says.
"""

from __future__ import annotations

from pathlib import PurePath

from ckpt_doctor.checks.answers import failed, unknown
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange, Window
from ckpt_doctor.facts.run import RunRecord

TITLE = "state restored"
RULES = (
    *("DAT201", "CMP305", "CMP306", "CMP307", "CMP309", "CMP313"),
    *("STA101", "STA102", "STA103", "STA113"),
)

OPTIMIZER = "optimizer."
"""How the names of a fingerprint's values begin that tell of optimizers."""


def judge(case: ChecklistCase) -> Judged:
    """Judge what was loaded, the order of the data, and the optimizers of both runs."""
    return failed(case, RULES) or _other(case.comparison) or unknown(case, RULES) or _seen(case)


def _other(comparison: Comparison) -> Judged | None:
    """An optimizer that came back as another one, whether any step is slower for it or not."""
    changes = [_told(change) for change in comparison.changes if change.key.startswith(OPTIMIZER)]
    if not changes:
        return None
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return Judged(status=ItemStatus.FAILED, sentence=f"{changes[0]}{more}", codes=("CMP305",))


def _seen(case: ChecklistCase) -> Judged:
    why = _unseen(case)
    if why is not None:
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence=why)
    sentence = "data and optimizer; RNGs, scheduler unseen"
    return Judged(status=ItemStatus.CHECKED, sentence=sentence)


def _unseen(case: ChecklistCase) -> str | None:
    """What is not known of all that can be; None where everything is."""
    comparison = case.comparison
    if not _has_loaded(comparison.after.run):
        return "no load of a checkpoint was seen"
    if not case.report.checkpoints:
        return "what the checkpoint holds is not known"
    if comparison.order.restored is not True:
        return "the data order is not known to be restored"
    if not (_is_described(comparison.before) and _is_described(comparison.after)):
        return "the optimizer was not described"
    return None


def _has_loaded(run: RunRecord) -> bool:
    """Whether any rank loaded a checkpoint, through a library or by reading its file."""
    if any(tuple(rank.events_of("load")) for rank in run.ranks):
        return True
    checkpoint = run.meta.checkpoint
    return checkpoint is not None and any(PurePath(f).is_relative_to(checkpoint) for f in run.read_files)


def _is_described(window: Window) -> bool:
    return any(key.startswith(OPTIMIZER) for each in window.rank.fingerprints for key in each.values)


def _told(change: FingerprintChange) -> str:
    before, after = ("not there" if value is None else value for value in (change.before, change.after))
    return f"{change.key} {before} -> {after}"
