"""Gives the choice of the optimizer's path back to torch.

What it does
------------
``foreach`` is set to None in each group where it is False and ``fused`` is not on: then torch chooses by
the device of the parameters, as it does for an optimizer that is built anew.

What it leaves alone
--------------------
``fused``, which not every optimizer and device has; groups that are ``differentiable``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpt_doctor.facts.repair import Change
from ckpt_doctor.repairs.draft import Draft
from ckpt_doctor.repairs.words import counted


def apply(draft: Draft) -> Iterator[Change]:
    """Repair each optimizer."""
    for optimizer in draft.optimizers:
        slow = [
            group
            for group in optimizer.groups
            if group.get("foreach") is False and not group.get("fused") and not group.get("differentiable")
        ]
        for group in slow:
            group["foreach"] = None
        if slow:
            groups = counted(len(slow), "parameter group")
            yield optimizer.change(f"set foreach from False to None in {groups}")
