"""The optimizer's state came back on another device than before, and its step became slower.

What it means
-------------
The checkpoint was loaded with a ``map_location`` that is not the parameters' device, or the state was put
into ``optimizer.state`` by hand. With ``step`` on the GPU every parameter waits for the device once a step;
with moments on the CPU every step copies them over; offloaded state that is no longer page-locked
(pinned) is copied more slowly.

How it is measured
------------------
The fingerprints: the devices of the state, or those of its zero-dimensional entries (``step``), are others
than in the control; or state lies on another device than its parameter, or is not pinned any more, and in
the control it was. An error where the optimizer part of the step grew as well: a wrong device alone is no
proof, and is only mentioned.

How to fix it
-------------
Load with ``load_state_dict``, which moves the state to its parameters, after the model is on its device;
pin offloaded state again; leave ``step`` on the CPU unless the optimizer is fused or capturable.

When it is wrong
----------------
State that is offloaded on purpose is so on both sides. Where the optimizer's options changed too, CMP306
names them, and the two share the time. On a device that works on its own the optimizer part is the host's
time: copies and waits show in it, slower kernels do not.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange
from ckpt_doctor.facts.report import Case, Confidence, Found, Severity, Side

DEVICES = ("state_devices", "step_devices")
ELSEWHERE = ("state_elsewhere_bytes",)
PINNED = ("state_pinned_bytes",)


def find(case: Case) -> Found | None:
    """Judge where the optimizer's state lies against its time."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = _misplaced(comparison)
    if not changes:
        return None
    slower = blame.is_slower(comparison, proven=True) and blame.grew(comparison, ("optimizer",))
    cost_s = blame.growth_s(comparison, ("optimizer",)) if slower else None
    told = ", ".join(f"{c.key.rpartition('.')[2].replace('_', ' ')} {c.before} -> {c.after}" for c in changes)
    effect = (
        "no step is slower for it" if cost_s is None else f"its step takes {units.seconds(cost_s)} longer"
    )
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The optimizer's state lies elsewhere after the resume ({told}): {effect}.",
        remedy="Load the state with optimizer.load_state_dict once the model is on its device, so that each "
        "entry comes to lie where its parameter does.",
        evidence=blame.change_evidence(changes) + blame.part_evidence(comparison, ("optimizer",)),
        confidence=Confidence.SUSPECTED if cost_s is None else Confidence.CONFIRMED,
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )


def _misplaced(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    moved = [c for c in blame.changes_of(comparison, "optimizer.", DEVICES) if _devices_differ(c)]
    elsewhere = [c for c in blame.changes_of(comparison, "optimizer.", ELSEWHERE) if not c.before]
    unpinned = [c for c in blame.changes_of(comparison, "optimizer.", PINNED) if not c.after]
    return (*moved, *elsewhere, *unpinned)


def _devices_differ(change: FingerprintChange) -> bool:
    """Whether other devices hold the state, whatever its size; no state lies nowhere."""
    before, after = _devices(change.before), _devices(change.after)
    return bool(before) and bool(after) and before != after


def _devices(listed: object) -> set[str]:
    """Names from ``cpu:3,cuda:9``."""
    return {word.partition(":")[0] for word in str(listed).split(",") if word}
