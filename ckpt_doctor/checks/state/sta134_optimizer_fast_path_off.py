"""The saved parameter groups switch the optimizer's fast path off.

What it means
-------------
``load_state_dict`` replaces the options of the constructor by those of the file. A file with
``foreach: False`` or ``fused: False`` turns an optimizer that was built with the fast path into one
that walks over its parameters one by one: each step launches many small kernels instead of few large
ones.

How it is measured
------------------
The options ``fused`` and ``foreach`` of each group. A group is slow where ``foreach`` is False and
``fused`` is not True. None is torch's own default (it chooses by the device), and ``fused: False``
beside ``foreach`` None or True still takes the foreach path: neither is a finding.

How to fix it
-------------
Set the flags after loading: ``for group in optimizer.param_groups: group["foreach"] = None``, or
``group["fused"] = True``. ``ckpt-doctor treat`` sets ``foreach`` in a copy.

When it is wrong
----------------
When the path was switched off on purpose, to save the memory that foreach takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckpt_doctor.checks.checkpoints import SOURCE
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.shape import Shape


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each optimizer of each checkpoint."""
    found = [
        each for facts in case.checkpoints for each in (_judge(facts, o) for o in facts.optimizers) if each
    ]
    return tuple(found) or None


def _judge(facts: CheckpointFacts, optimizer: OptimizerFacts) -> Found | None:
    slow = [index for index, group in enumerate(optimizer.groups) if _is_slow(group.options)]
    if not slow:
        return None
    where = f"{optimizer.where}.param_groups"
    return Found(
        severity=Severity.WARNING,
        side=Side.COMPUTE,
        summary=f"{len(slow)} of {len(optimizer.groups)} parameter groups at {where} carry foreach=False: "
        "loading them switches the slow path on",
        remedy='after load_state_dict set group["foreach"] = None (or group["fused"] = True) in every group',
        evidence=tuple(
            Evidence(f"{where}[{index}].{flag}", str(optimizer.groups[index].options.get(flag)), None, SOURCE)
            for index in slow[:3]
            for flag in ("foreach", "fused")
        ),
        shape=Shape.STEADY,
        checkpoint=facts.path,
    )


def _is_slow(options: Mapping[str, object]) -> bool:
    return options.get("foreach") is False and not options.get("fused")
