"""Storages are placed on CUDA devices.

What it means
-------------
``torch.load`` without ``map_location`` puts each storage back where it was: every rank of a job loads
the checkpoint onto the GPU that rank 0 saved it from, and that memory stays taken.

How it is measured
------------------
The device of each storage, as the file records it.

How to fix it
-------------
``torch.load(path, map_location="cpu")``, or the rank's own device. ``ckpt-doctor treat`` places a copy on the
CPU.

When it is wrong
----------------
For a run on one GPU that loads onto that very GPU: that is why it is info.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side

KIND = "cuda"


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each checkpoint."""
    return tuple(found for facts in case.checkpoints if (found := _judge(facts)) is not None) or None


def _judge(facts: CheckpointFacts) -> Found | None:
    sizes: dict[str, int] = {}
    placed = {t.storage: (t.device, t.storage_bytes) for t in facts.tensors if t.device is not None}
    for storage, (device, size) in placed.items():
        if storage and device.partition(":")[0] == KIND:
            sizes[device] = sizes.get(device, 0) + size
    if not sizes:
        return None
    places = ", ".join(sorted(sizes))
    return Found(
        severity=Severity.INFO,
        side=Side.NONE,
        summary=f"storages are placed on {places}: without map_location every rank loads them there",
        remedy='torch.load(path, map_location="cpu"), or the device of the rank',
        evidence=tuple(
            Evidence(f"storages on {device}", sizes[device], "bytes", SOURCE) for device in sorted(sizes)
        ),
        checkpoint=facts.path,
    )
