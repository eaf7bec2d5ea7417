"""The model was compiled, and no compile cache lies in the checkpoint.

What it means
-------------
Where the resumed run starts on another machine, or its temporary folder is gone, everything is
compiled again before the first step.

How it is measured
------------------
A compiled model shows in the ``_orig_mod.`` prefix of its keys or in a framework's setting. The cache
is the bytes of ``torch.compiler.save_cache_artifacts()``, in the checkpoint or beside it.

How to fix it
-------------
Keep ``TORCHINDUCTOR_CACHE_DIR`` on storage that outlives the run, or save the artifacts beside the
checkpoint and load them before compiling.

When it is wrong
----------------
When the run resumes on the same machine with its temporary folder intact: the cache is on disk then.
That is why this is info.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import (
    SOURCE,
    absence,
    first_unknown,
    gather,
    is_absent,
    is_required,
    remedy,
    severity,
)
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.shape import Shape
from ckpt_doctor.facts.states import StateKind

KIND = StateKind.COMPILE_CACHE


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each checkpoint."""
    return gather(_judge(case, facts) for facts in case.checkpoints)


def _judge(case: Case, facts: CheckpointFacts) -> Found | CannotTell | None:
    if not facts.compiled and not is_required(case, KIND):
        return None
    if not is_absent(facts, KIND):
        return first_unknown(facts, KIND)
    prefixes = ", ".join(facts.model_prefixes) or "a setting"
    return Found(
        severity=severity(case, [KIND], Severity.INFO),
        side=Side.COMPUTE,
        summary="the model was compiled and no compile cache is kept: a resume elsewhere compiles again",
        remedy=remedy(facts, KIND),
        evidence=(Evidence("compiled, as told by", prefixes, None, SOURCE), *absence(facts, KIND)),
        shape=Shape.ONE_TIME,
        checkpoint=facts.path,
    )
