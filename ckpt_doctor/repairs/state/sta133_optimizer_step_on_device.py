"""Places the optimizer's step counters on the CPU.

What it does
------------
The zero-dimensional ``step`` of each entry is placed on the CPU, where the optimizer reads it without
waiting for the device.

What it leaves alone
--------------------
Optimizers with ``fused`` or ``capturable`` in a group, which want the counter on the device; the moments,
which follow their parameters as they are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpt_doctor.facts.repair import Change
from ckpt_doctor.repairs.draft import Draft
from ckpt_doctor.repairs.words import counted

_FLAGS = ("fused", "capturable")


def apply(draft: Draft) -> Iterator[Change]:
    """Repair each optimizer."""
    for optimizer in draft.optimizers:
        if any(group.get(flag) for group in optimizer.groups for flag in _FLAGS):
            continue
        steps = [
            tensor
            for _, name, tensor in optimizer.pieces()
            if name == "step" and optimizer.loaded.place(tensor) != "cpu"
        ]
        for step in steps:
            optimizer.loaded.place_on_cpu(step)
        if steps:
            yield optimizer.change(f"placed {counted(len(steps), 'step counter')} on the CPU")
