"""The resumed run has too little memory, and waits while it is taken back and filled again.

What it means
-------------
What the run needs does not fit beside what it holds: pages of the data, or of the process, are thrown out
and fetched again; on a GPU the allocator empties its cache and asks the driver anew. Often a load has
left its copy behind (CMP312), the limit is lower than before, or a save took the room.

How it is measured
------------------
Time in which some task waited for memory (pressure stall information, which counts pages that come back,
not pages that were never there) per step rose by ``memory.STALL_RATIO`` and explains ``blame.MIN_SHARE`` of
the slowdown, while this run itself reads more, swaps (``memory.SWAP_INS``) or hits its limit; or it hits its
limit ``memory.HITS`` times more per step. The cost is that time, or the growth of the parts that read, as
far as their reads fetch pages that had been thrown out (refaults), whichever is more. Without pressure
information: pages that come back from swap, and the growth that is no CPU time. On a CUDA device:
``memory.RETRIES`` more emptied caches per step, and the parts grew in which the host hands out work. What a
load has kept is told by CMP312 instead.

How to fix it
-------------
Free what the load brought (``del checkpoint``, ``torch.cuda.empty_cache()`` once), load with ``map_location``
or ``mmap=True``, give the resumed job the memory limit of the first one.

When it is wrong
----------------
The kernel's time is the whole machine's: a neighbour that swaps while this run happens to read more looks
the same. Page faults of the heap without pressure are CMP317, reads of pages that were never cached
DAT203. Kernels before 4.20, and those without pressure information, tell only of swap.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, memory
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

COUNTERS = ("pressure_memory_s", "refaults", "swap_ins", "tree_major_faults", "physical_read_bytes")


def find(case: Case) -> Found | CannotTell | None:
    """Judge memory of the machine and of the device."""
    comparison = case.comparison
    if comparison is None:
        return None
    if not memory.is_known(comparison):
        return CannotTell(blame.why_unknown(comparison, "pressure_memory_s", "swap_ins"))
    if not blame.is_slower(comparison, proven=True) or memory.keeps_load(comparison):
        return None
    cost_s = memory.pressure_cost_s(comparison)
    if blame.share_ratio(comparison, cost_s) < blame.MIN_SHARE:
        return None
    stalled = memory.stall_s(comparison) > 0
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"Each step waits {units.seconds(cost_s)} longer for memory{_where(comparison)}.",
        remedy="Free what the load left behind (del checkpoint; torch.cuda.empty_cache() once), load with "
        "map_location or mmap=True, and give the resumed job as much memory as the first one had.",
        evidence=_evidence(comparison),
        confidence=Confidence.CONFIRMED if stalled else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )


def _where(comparison: Comparison) -> str:
    if memory.host_cost_s(comparison) <= 0:
        before, after = memory.retries(comparison)
        return (
            f": the CUDA allocator empties its cache {units.number(after)} times per step "
            f"({units.number(before or 0.0)} before)"
        )
    limit = memory.at_end(comparison.after, "machine.memory_limit_bytes")
    if limit is not None and memory.hits_more(comparison):
        return f": it runs into its limit of {units.size(limit)}"
    return ""


def _evidence(comparison: Comparison) -> tuple[Evidence, ...]:
    found = tuple(e for name in COUNTERS for e in blame.counter_evidence(comparison.counter(name), "/proc"))
    return found + memory.size_evidence(comparison)
