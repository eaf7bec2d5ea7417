"""Takes off an optimizer what it keeps beyond its need.

What it does
------------
State in float64 whose parameters need float32 at most is cast to float32 (complex128 to complex64). That is
what torch's optimizers do as they load it. ``max_exp_avg_sq`` is dropped where amsgrad is off in every
group. Views of larger buffers get storages of their own size.

What it leaves alone
--------------------
Values that float32 cannot hold, and ``step``. Names of state that no optimizer known here uses stay as
well, since the run may use one that is not known: ``--drop-state NAME`` drops them. Entries without a
parameter belong to STA132.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ckpt_doctor.facts.repair import Change, Kept
from ckpt_doctor.repairs.draft import Draft, OptimizerDraft
from ckpt_doctor.repairs.loaded import tensors_in
from ckpt_doctor.repairs.storages import cut
from ckpt_doctor.repairs.words import counted


def apply(draft: Draft) -> Iterator[Change | Kept]:
    """Repair each optimizer."""
    for optimizer in draft.optimizers:
        if optimizer.surplus.wide:
            yield from _cast(optimizer)
        yield from _drop(optimizer, optimizer.surplus.dead, "which an option that is off would need")
        unknown = optimizer.surplus.unknown
        wanted = tuple(name for name in unknown if name in draft.request.dropped_names)
        yield from _drop(optimizer, wanted, "as asked for")
        for name in unknown:
            if name not in wanted:
                why = f"no optimizer known here uses it, yours may (--drop-state {name} drops it)"
                yield Kept(optimizer.where, f"{name} stays: {why}")
        yield from _cut(optimizer)


def _cast(optimizer: OptimizerDraft) -> Iterator[Change | Kept]:
    import torch

    seen: set[int] = set()
    count: Counter[tuple[str, str]] = Counter()
    too_large = 0
    for id_, name, tensor in optimizer.pieces():
        target = optimizer.surplus.wide.get((id_, name))
        if target is None or id(tensor) in seen:
            continue
        seen.add(id(tensor))
        fresh = tensor.detach().to(getattr(torch, target))
        if bool((fresh.isfinite() != tensor.isfinite()).any()):
            too_large += 1
            continue
        count[str(tensor.dtype).removeprefix("torch."), target] += 1
        optimizer.loaded.replace(tensor, fresh)
    for (wide, target), number in count.items():
        tensors = counted(number, "tensor")
        yield optimizer.change(f"cast {tensors} of state from {wide} to {target}", is_exact=False)
    if too_large:
        tensors = counted(too_large, "tensor")
        yield Kept(optimizer.where, f"wide state stays: float32 cannot hold the values of {tensors}")


def _drop(optimizer: OptimizerDraft, names: tuple[str, ...], why: str) -> Iterator[Change]:
    for name in names:
        entries = [entry for entry in optimizer.entries.values() if name in entry]
        for entry in entries:
            del entry[name]
        if entries:
            number = counted(len(entries), "entry", "entries")
            yield optimizer.change(f"dropped {name} of {number}, {why}")


def _cut(optimizer: OptimizerDraft) -> Iterator[Change]:
    storages = cut(optimizer.loaded, tensors_in(optimizer.entries))
    if storages:
        yield optimizer.change(f"cut {counted(storages, 'storage')} to what their tensors need")
