"""The model's keys carry the prefix of a wrapper.

What it means
-------------
``_orig_mod.`` comes from torch.compile, ``module.`` from DistributedDataParallel. A resume that loads
them into a model without the same wrapper fails, or with ``strict=False`` drops every weight in silence;
one that strips the wrapper instead runs uncompiled.

How it is measured
------------------
The names of the model's tensors.

How to fix it
-------------
Save the inner module's state: ``getattr(model, "_orig_mod", model).state_dict()``, ``model.module``.
``ckpt-doctor treat`` strips the prefixes in a copy.

When it is wrong
----------------
When the resumed script wraps the model in the same way before it loads: that is why it is info.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE, presence
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each checkpoint."""
    return tuple(found for facts in case.checkpoints if (found := _judge(facts)) is not None) or None


def _judge(facts: CheckpointFacts) -> Found | None:
    if not facts.model_prefixes:
        return None
    where = presence(facts, StateKind.MODEL).where or "model"
    names = ", ".join(facts.model_prefixes)
    return Found(
        severity=Severity.INFO,
        side=Side.NONE,
        summary=f"the model's keys carry {names}: loading them needs the same wrapper around the model",
        remedy="save the inner module's state (model._orig_mod, model.module) and load it before wrapping",
        evidence=tuple(
            Evidence(f"prefix in {where}", prefix, None, SOURCE) for prefix in facts.model_prefixes
        ),
        checkpoint=facts.path,
    )
