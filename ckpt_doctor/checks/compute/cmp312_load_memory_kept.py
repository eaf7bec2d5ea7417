"""What was loaded from the checkpoint is still in memory, beside what it was copied into.

What it means
-------------
``load_state_dict`` copies. A name that still stands for the loaded dictionary keeps all of it: a local
variable of a main function that never returns, an attribute, a closure. Loaded without ``map_location`` it
also lies on the device that it was saved from, so that all ranks fill the first GPU. The run is not
slower for it until memory runs short.

How it is measured
------------------
Every tensor that a load returned is followed by a weak reference. Kept is what is alive, is no tensor of an
optimizer, and shows as memory in use (as malloc and the CUDA allocator count it) beyond that of the fresh
process after as many steps: at least ``memory.KEPT_BYTES``. Also: bytes on devices other than the
process's own, and ranks that share a device. It is blamed for time only where memory is under pressure
(as in CMP311); else a warning from ``SERIOUS_SHARE`` of the process's memory on, and a mention below it.

How to fix it
-------------
``del checkpoint`` after the last ``load_state_dict``, or load in a function of its own;
``map_location="cpu"``, or this rank's own device.

When it is wrong
----------------
A checkpoint that is kept on purpose (a frozen teacher loaded by reference, averaged weights) is counted
where the fresh run does not have it. Payload that is neither tensor nor array (long lists) is not
followed. Views into a loaded tensor that outlive it are not seen.
"""

from __future__ import annotations

from collections import Counter

from ckpt_doctor import units
from ckpt_doctor.checks import blame, memory
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side
from ckpt_doctor.facts.run import RunRecord

SERIOUS_SHARE = 0.1
"""Part of the process's memory from which on a kept checkpoint is worth a warning."""
REMEDY = (
    "Drop the loaded dictionary once its state is in place (del checkpoint, or load in a function of its "
    'own), and load with map_location="cpu" or the rank\'s own device.'
)


def find(case: Case) -> Found | None:
    """Judge what is left of the load."""
    comparison = case.comparison
    if comparison is None:
        return None
    kept, strays = memory.kept_bytes(comparison) or 0.0, _stray_bytes(comparison)
    ranks = (_ranks_per_device(comparison.before.run), _ranks_per_device(comparison.after.run))
    piled = ranks[1] > max(1, ranks[0])
    if not memory.keeps_load(comparison) and strays < memory.KEPT_BYTES and not piled:
        return None
    cost_s = memory.pressure_cost_s(comparison) if blame.is_slower(comparison, proven=True) else 0.0
    costs = blame.share_ratio(comparison, cost_s) >= blame.MIN_SHARE
    effect = f"each step waits {units.seconds(cost_s)} for memory" if costs else "no step is slower for it"
    serious = max(kept, strays) >= SERIOUS_SHARE * _used_bytes(comparison) or piled
    return Found(
        severity=Severity.ERROR if costs else Severity.WARNING if serious else Severity.INFO,
        side=Side.COMPUTE,
        summary=f"{_told(kept, strays, ranks)}: {effect}.",
        remedy=REMEDY,
        evidence=(
            Evidence(
                "tensors loaded", memory.at_end(comparison.after, "memory.loaded_bytes"), "bytes", "agent"
            ),
            Evidence("of these kept", kept, "bytes", "agent"),
            *((Evidence("on other devices", strays, "bytes", "agent"),) if strays else ()),
            *((Evidence("ranks on one device", ranks[1], None, "agent"),) if piled else ()),
            *memory.size_evidence(comparison),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s) if costs else None,
        delta_s=cost_s if costs else None,
        shape=blame.lasting_shape(comparison) if costs else None,
    )


def _stray_bytes(comparison: Comparison) -> float:
    """Bytes on devices that are not the process's own, beyond those of the control."""
    before, after = (
        memory.at_end(w, "memory.cuda_other_bytes") or 0.0 for w in (comparison.before, comparison.after)
    )
    return max(0.0, after - before)


def _ranks_per_device(run: RunRecord) -> int:
    """The most ranks that share a device; 0 where no device is known."""
    devices = Counter(
        (rank.node, device)
        for rank in run.ranks
        if rank.fingerprints and (device := rank.fingerprints[-1].values.get("cuda.device")) is not None
    )
    return max(devices.values(), default=0)


def _used_bytes(comparison: Comparison) -> float:
    names = ("memory.rss_bytes", "memory.cuda_allocated_bytes")
    return max(memory.at_end(comparison.after, name) or 0.0 for name in names)


def _told(kept: float, strays: float, ranks: tuple[int, int]) -> str:
    if kept >= memory.KEPT_BYTES:
        return f"{units.size(kept)} of the loaded checkpoint are still in memory"
    if strays >= memory.KEPT_BYTES:
        return f"The process holds {units.size(strays)} on a device that is not its own"
    return f"{ranks[1]} ranks share one device ({ranks[0]} before)"
