"""Tensors drag storages along that are far larger than themselves.

What it means
-------------
A view that is saved takes its whole storage with it: a row of a large buffer brings the buffer. The
file is larger, loading takes longer, and the memory stays taken, since loading and saving keep the
storage.

How it is measured
------------------
Bytes of the distinct storages over the bytes that their tensors cover. From a ratio of 1.5 and 16 KiB
of surplus it is a warning: alignment and padding of flat parameters stay far below.

How to fix it
-------------
``tensor.clone()`` before saving. ``ckpt-doctor treat`` cuts the storages in a copy.

When it is wrong
----------------
When the storage is shared with tensors that are saved in another file.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE, savings
from ckpt_doctor.facts.checkpoint import CheckpointFacts, TensorEntry
from ckpt_doctor.facts.report import Case, Evidence, Found, Severity, Side

LEAST_RATIO = 1.5
"""Half as much again as needed."""
LEAST_SURPLUS_BYTES = 16 << 10
"""Less than that is not worth a word."""
SHOWN = 3


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge each checkpoint."""
    return tuple(found for facts in case.checkpoints if (found := _judge(facts)) is not None) or None


def _judge(facts: CheckpointFacts) -> Found | None:
    surplus = _surplus(facts.tensors)
    extra = sum(size for _, size in surplus)
    if extra < LEAST_SURPLUS_BYTES:
        return None
    total = sum({t.storage: t.storage_bytes for t in facts.tensors}.values())
    if total < LEAST_RATIO * (total - extra):
        return None
    return Found(
        severity=Severity.WARNING,
        side=Side.NONE,
        summary=f"tensors drag {extra:,} bytes of larger storages along, of {total:,} in the file",
        remedy="clone() views before saving them",
        evidence=(
            Evidence("bytes of all storages", total, "bytes", SOURCE),
            *savings(extra),
            *(
                Evidence(f"not covered in the storage of {key}", size, "bytes", SOURCE)
                for key, size in surplus[:SHOWN]
            ),
        ),
        checkpoint=facts.path,
    )


def _surplus(tensors: tuple[TensorEntry, ...]) -> list[tuple[str, int]]:
    """A tensor's key and the uncovered bytes of its storage, the largest first."""
    left: dict[str, int] = {}
    for tensor in tensors:
        left[tensor.storage] = left.get(tensor.storage, tensor.storage_bytes) - tensor.tensor_bytes
    dragged = {storage: size for storage, size in left.items() if size > 0}
    keys = {tensor.storage: tensor.key for tensor in reversed(tensors)} if dragged else {}
    return sorted(((keys[storage], size) for storage, size in dragged.items()), key=lambda each: -each[1])
