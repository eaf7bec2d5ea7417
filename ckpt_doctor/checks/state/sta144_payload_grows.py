"""The checkpoint carries much that is no tensor, or grows from one to the next.

What it means
-------------
Histories, logs and data sets that ride along in a checkpoint make saving and loading slower each time,
and where the training loop keeps them in memory, each step too.

How it is measured
------------------
One checkpoint: the bytes that are no tensors (pickles, JSON). From 4 MiB and 4 KiB for each tensor it
is a warning: the description of a tensor takes about 350 bytes. Several checkpoints, in the order of
their steps: bytes by top-level key that grow by half and by 1 MiB from the first to the last.

How to fix it
-------------
Keep histories out of the checkpoint: write them to a log, or keep the last few values, as ``ckpt-doctor
treat`` does in a copy.

When it is wrong
----------------
For checkpoints of different models. For optimizers that fill up over their first steps (LBFGS).
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side

LEAST_PAYLOAD_BYTES = 4 << 20
"""Less is read and written within a few milliseconds."""
LEAST_PAYLOAD_BYTES_PER_TENSOR = 4 << 10
"""Ten times what the description of a tensor and its place takes."""
LEAST_GROWTH_BYTES = 1 << 20
"""Less growth than this costs nothing that could be measured."""
LEAST_GROWTH_RATIO = 1.5
"""More than what optimizers add in their first steps, and less than a history that doubles."""


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each checkpoint, then the series."""
    found = [each for facts in case.checkpoints if (each := _judge(facts)) is not None]
    steps = [facts for facts in case.checkpoints if "step" in facts.progress]
    if len(steps) > 1:
        ordered = sorted(steps, key=lambda facts: facts.progress["step"])
        found += _growth(ordered[0], ordered[-1])
    return tuple(found) or None


def _judge(facts: CheckpointFacts) -> Found | None:
    payload = facts.payload_bytes
    if payload is None or payload < max(
        LEAST_PAYLOAD_BYTES, LEAST_PAYLOAD_BYTES_PER_TENSOR * len(facts.tensors)
    ):
        return None
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"{payload:,} bytes of the checkpoint are no tensors: it carries a history or data along",
        remedy="keep histories out of the checkpoint: write them to a log, or keep the last few values",
        evidence=(
            Evidence("bytes that are no tensors", payload, "bytes", SOURCE),
            Evidence("tensors", len(facts.tensors), None, SOURCE),
        ),
        checkpoint=facts.path,
    )


def _growth(first: CheckpointFacts, last: CheckpointFacts) -> list[Found]:
    before, after = _sizes(first), _sizes(last)
    return [
        Found(
            severity=Severity.WARNING,
            side=Side.WORK,
            summary=f"{key} grew from {before[key]:,} to {after[key]:,} bytes between steps "
            f"{first.progress['step']:,} and {last.progress['step']:,}",
            remedy="keep what grows with each step out of the checkpoint, or bound its length",
            evidence=(
                Evidence(f"{key} in {first.path}", before[key], "bytes", SOURCE),
                Evidence(f"{key} in {last.path}", after[key], "bytes", SOURCE),
            ),
            checkpoint=last.path,
        )
        for key in sorted(before.keys() & after.keys())
        if after[key] - before[key] >= LEAST_GROWTH_BYTES and after[key] >= LEAST_GROWTH_RATIO * before[key]
    ]


def _sizes(facts: CheckpointFacts) -> dict[str, int]:
    """Bytes by top-level key, and those of everything that is no tensor."""
    sizes: dict[str, int] = {}
    for tensor in facts.tensors:
        key = tensor.key.partition(".")[0].partition("[")[0]
        sizes[key] = sizes.get(key, 0) + tensor.tensor_bytes
    if facts.payload_bytes is not None:
        sizes["what is no tensor"] = facts.payload_bytes
    return sizes
