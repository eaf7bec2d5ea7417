"""The optimizer's step counters lie on a GPU although nothing there reads them.

What it means
-------------
Without ``capturable`` or ``fused`` the optimizer reads each ``step`` on the CPU. A counter on the device
makes the CPU wait for the GPU once for each parameter and step.

How it is measured
------------------
The device of each zero-dimensional ``step`` tensor and the flags of the groups, as saved. It is info:
only a measurement (CMP307) shows whether it costs time here.

How to fix it
-------------
Move them back after loading (``state["step"] = state["step"].cpu()``), load with
``map_location="cpu"``, or set ``capturable=True``. ``ckpt-doctor treat`` moves them in a copy.

When it is wrong
----------------
Newer versions of PyTorch move the counters themselves when the state is loaded in the usual way.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side

HOST = ("cpu", "meta")
FLAGS = ("fused", "capturable")
"""Options with which the counter belongs on the device."""


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each optimizer of each checkpoint."""
    each = (_judge(facts, optimizer) for facts in case.checkpoints for optimizer in facts.optimizers)
    return tuple(found for found in each if found is not None) or None


def _judge(facts: CheckpointFacts, optimizer: OptimizerFacts) -> Found | None:
    devices = [device for device in optimizer.step_devices if device not in HOST]
    wanted = any(group.options.get(flag) for group in optimizer.groups for flag in FLAGS)
    if not devices or wanted:
        return None
    return Found(
        severity=Severity.INFO,
        side=Side.COMPUTE,
        summary=f"the step counters of {optimizer.where} lie on {', '.join(devices)} without capturable or "
        "fused: each step may wait for the device once per parameter",
        remedy='load with map_location="cpu", or state["step"] = state["step"].cpu() for each entry',
        evidence=tuple(Evidence(f"step of {optimizer.where}", device, None, SOURCE) for device in devices),
        checkpoint=facts.path,
    )
