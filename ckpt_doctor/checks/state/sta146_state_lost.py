"""A state that the earlier checkpoint has is gone from the later one.

What it means
-------------
Between the two saves the training code stopped saving this state, or the framework was told to leave it
out. A run that resumes from the later checkpoint starts that part anew, though it did not before.

How it is measured
------------------
Both checkpoints are read without being loaded. A state counts as lost where the earlier one holds it and
the later one is known not to; a state that cannot be told in one of them is not judged.

How to fix it
-------------
Compare the two versions of the code that saves, and save the state again. Where the framework has an
option for it, the finding on the state itself names the option.

When it is wrong
----------------
Where the later file was made to hold less, as an export of weights. A state that the project demands
(``--require``) is an error, any other a warning.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE, is_required
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

_DATA = frozenset({StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG, StateKind.DATALOADER_POSITION})


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each state that was lost."""
    comparison = case.checkpoint_comparison
    if comparison is None:
        return None
    return tuple(
        Found(
            severity=Severity.ERROR if is_required(case, kind) else Severity.WARNING,
            side=Side.DATA if kind in _DATA else Side.NONE,
            summary=f"the state {kind.value} was saved before and is no longer",
            remedy="save it again: compare the code of the two saves",
            evidence=(
                Evidence(f"{kind.value} in {comparison.before}", where or "present", None, SOURCE),
                Evidence(f"{kind.value} in {comparison.after}", "absent", None, SOURCE),
            ),
            checkpoint=comparison.after,
        )
        for kind, where in comparison.lost.items()
    )
