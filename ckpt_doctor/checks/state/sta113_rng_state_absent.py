"""States of random-number generators are missing.

What it means
-------------
Dropout, augmentations and, where the sampler draws from torch's global generator, the order of the
data go on differently than they would have.

How it is measured
------------------
The file is searched for the states of torch's CPU generator, CUDA's, numpy's and Python's by their
shape. CUDA's is missed only where tensors lay on a CUDA device at the save. A missing torch or CUDA
state is a warning; numpy's and Python's alone are info, since nothing tells whether the run draws from
them.

How to fix it
-------------
Save all of them, one set for each rank.

When it is wrong
----------------
When the script seeds its generators anew from the step or the epoch.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
    absence,
    devices,
    first_unknown,
    gather,
    is_absent,
    is_present,
    is_required,
    remedy,
    severity,
)
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

SURE = (StateKind.TORCH_RNG, StateKind.CUDA_RNG)
"""Generators that a PyTorch run on that device draws from."""
MAYBE = (StateKind.NUMPY_RNG, StateKind.PYTHON_RNG)
"""Generators that only some loaders and augmentations draw from."""
_NAMES = {
    StateKind.TORCH_RNG: "torch",
    StateKind.CUDA_RNG: "CUDA",
    StateKind.NUMPY_RNG: "numpy",
    StateKind.PYTHON_RNG: "Python",
}


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    kinds = [kind for kind in (*SURE, *MAYBE) if _matters(case, facts, kind)]
    required = [kind for kind in kinds if is_required(case, kind)]
    if not is_present(facts, StateKind.OPTIMIZER) and not required:
        return None
    missing = [kind for kind in kinds if is_absent(facts, kind)]
    if not missing:
        return first_unknown(facts, *kinds)
    names = ", ".join(_NAMES[kind] for kind in missing)
    return Found(
        severity=severity(case, missing, Severity.WARNING if set(missing) & set(SURE) else Severity.INFO),
        side=Side.DATA,
        summary=f"random-number state is missing ({names}): augmentations and dropout go on differently",
        remedy=remedy(facts, *missing),
        evidence=absence(facts, *missing),
        checkpoint=facts.path,
    )


def _matters(case: Case, facts: CheckpointFacts, kind: StateKind) -> bool:
    return kind is not StateKind.CUDA_RNG or "cuda" in devices(facts) or is_required(case, kind)
