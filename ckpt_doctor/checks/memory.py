"""What the rules about memory share: sizes out of the fingerprints, pressure, and what a load has left."""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.comparison import Comparison, Window
from ckpt_doctor.facts.report import Evidence
from ckpt_doctor.facts.run import Fingerprint

KEPT_BYTES = 16e6
"""Less of a checkpoint that is kept matters to nobody."""
PAGE_BYTES = 4096
"""A page of most machines; where it is larger, less is taken for read again than is."""
STALL_RATIO = 1.5
"""Growth of the time in which some task waited for memory that counts."""
READ_RATIO = 1.5
HITS = 0.1
"""Further runs into the memory limit per step that count."""
SWAP_INS = 1.0
"""Further pages per step that come back from swap ..."""
FAULTS = 0.5
"""... or that are read on access ..."""
READ_BYTES = 16384.0
"""... or bytes that are read from the disk: then it is this run that waits."""
REFAULT_SHARE = 0.5
"""Part of the further reads that must be of pages which had been in memory to call them read again."""
RETRIES = 0.02
"""Further emptied caches per step that count: each gives memory back, and waits for the device."""
DEVICE_PARTS = ("forward", "backward", "optimizer", "rest")
"""Where the host waits for the CUDA allocator."""
SIZES = (
    "memory.rss_bytes",
    "memory.heap_bytes",
    "memory.cuda_allocated_bytes",
    "memory.cuda_reserved_bytes",
    "machine.memory_limit_bytes",
)
"""Sizes that are told as evidence."""


def at_start(window: Window, name: str) -> float | None:
    """A measured size a few steps after the process began; None where it is unknown."""
    return _number(window.rank.fingerprints[:1], name)


def at_end(window: Window, name: str) -> float | None:
    """A measured size when the process was looked at last; None where it is unknown."""
    return _number(window.rank.fingerprints[-1:], name)


def per_step(window: Window, name: str) -> float | None:
    """Growth per step of a cumulative number, from the window's start to the last look at the process."""
    prints = window.rank.fingerprints
    earlier = [f for f in prints if f.step <= window.first] or prints[:1]
    if not earlier or prints[-1].step <= earlier[-1].step:
        return None
    first, last = _number(earlier[-1:], name), _number(prints[-1:], name)
    if first is None or last is None:
        return None
    return (last - first) / (prints[-1].step - earlier[-1].step)


def is_known(comparison: Comparison) -> bool:
    """Whether anything tells of memory running short, on the machine or on a device."""
    counters = (comparison.counter(name) for name in ("pressure_memory_s", "swap_ins"))
    sizes = ("memory.limit_hits", "memory.cuda_alloc_retries")
    return any(map(blame.is_known, counters)) or any(
        per_step(comparison.after, name) is not None for name in sizes
    )


def stall_s(comparison: Comparison) -> float:
    """Seconds per step for which this run waits longer for memory than the control; 0 where it does not.

    The kernel's time counts for the whole machine. It is taken for this run's where this run also reads
    more, swaps, or runs into its limit.
    """
    stalled = comparison.counter("pressure_memory_s")
    least_s = blame.MIN_SHARE * max(comparison.delta_s, 0.0)
    if not blame.moved(stalled, ratio=STALL_RATIO, least=least_s) or stalled is None or not stalled.delta:
        return 0.0
    return stalled.delta if reclaims(comparison) else 0.0


def host_cost_s(comparison: Comparison) -> float:
    """Seconds per step that waiting for the machine's memory costs; 0 where there is no pressure.

    Pages that had been thrown out are read again: the kernel calls a part of that waiting for memory, and
    the rest of it waiting for the disk. So where there is pressure, the growth of the parts that read
    counts as far as their reads are of such pages.
    """
    stalled_s = stall_s(comparison)
    if stalled_s > 0 or hits_more(comparison):
        read_s = blame.growth_s(comparison, loading.reading_parts(comparison))
        return max(stalled_s, refault_ratio(comparison) * read_s)
    if blame.is_known(comparison.counter("pressure_memory_s")):
        return 0.0
    spent_s = blame.cpu_growth_s(comparison)
    swapped = blame.moved(comparison.counter("swap_ins"), ratio=READ_RATIO, least=SWAP_INS)
    return max(0.0, comparison.delta_s - spent_s) if swapped and spent_s is not None else 0.0


def refault_ratio(comparison: Comparison) -> float:
    """The part of the further reads from the disk that fetches pages which had been in memory before."""
    refaults, physical = comparison.counter("refaults"), comparison.counter("physical_read_bytes")
    if refaults is None or physical is None or not refaults.delta or not physical.delta:
        return 0.0
    return max(0.0, min(1.0, refaults.delta * PAGE_BYTES / physical.delta))


def reads_again(comparison: Comparison) -> bool:
    """Whether the further reads from the disk are of pages that had been in memory during this experiment.

    The kernel counts pages that come back after it threw them out, but not those that a run itself dropped.
    There the control tells: in a probe both runs begin with the page cache as it was at the save, so what
    the one found in memory was there for the other, too, as long as both read the same data.
    """
    if refault_ratio(comparison) >= REFAULT_SHARE:
        return True
    physical = comparison.counter("physical_read_bytes")
    warm = physical is not None and physical.before is not None and physical.before < READ_BYTES
    cleared = comparison.after.run.meta.options.get("cold_cache")
    return warm and comparison.paired and comparison.order.restored is True and not cleared


def device_cost_s(comparison: Comparison) -> float:
    """Seconds per step by which the host works longer while the CUDA allocator empties its cache."""
    if not retries_more(comparison) or not blame.grew(comparison, DEVICE_PARTS):
        return 0.0
    return blame.growth_s(comparison, DEVICE_PARTS)


def pressure_cost_s(comparison: Comparison) -> float:
    """Seconds per step that pressure costs on both, at most the slowdown."""
    return min(max(comparison.delta_s, 0.0), host_cost_s(comparison) + device_cost_s(comparison))


def reclaims(comparison: Comparison) -> bool:
    """Whether pages that this run had, or could have had, are fetched again."""
    reads = (("tree_major_faults", FAULTS), ("physical_read_bytes", READ_BYTES), ("swap_ins", SWAP_INS))
    more = any(blame.moved(comparison.counter(n), ratio=READ_RATIO, least=least) for n, least in reads)
    return more or hits_more(comparison)


def hits_more(comparison: Comparison) -> bool:
    """Whether the run runs into its control group's memory limit more often than the control."""
    before, after = (per_step(w, "memory.limit_hits") for w in (comparison.before, comparison.after))
    return after is not None and after - (before or 0.0) >= HITS


def retries(comparison: Comparison) -> tuple[float | None, float]:
    """How often per step the CUDA allocator emptied its cache, on both sides; 0 where it never did."""
    before, after = (per_step(w, "memory.cuda_alloc_retries") for w in (comparison.before, comparison.after))
    return before, after or 0.0


def retries_more(comparison: Comparison) -> bool:
    """Whether the CUDA allocator empties its cache more often than in the control."""
    before, after = retries(comparison)
    return after - (before or 0.0) >= RETRIES


def kept_bytes(comparison: Comparison) -> float | None:
    """Bytes of the loaded checkpoint that the resumed run holds beside what it trains with.

    Two things have to agree: so many loaded tensors are alive that no optimizer holds, and so much more
    memory is in use than in the fresh process after as many steps. None where nothing was loaded.
    """
    alive = at_end(comparison.after, "memory.kept_bytes")
    if alive is None:
        return None
    on_device = at_end(comparison.after, "memory.kept_device_bytes") or 0.0
    device = _least(on_device, _grown(comparison, "memory.cuda_allocated_bytes"))
    heap = _grown(comparison, "memory.heap_bytes")
    host = _least(alive - on_device, _grown(comparison, "memory.rss_bytes") if heap is None else heap)
    return host + device


def keeps_load(comparison: Comparison) -> bool:
    """Whether enough of the loaded checkpoint is kept to speak of."""
    return (kept_bytes(comparison) or 0.0) >= KEPT_BYTES


def size_evidence(comparison: Comparison) -> tuple[Evidence, ...]:
    """Sizes of both processes after their first steps, as far as they are known."""
    rows = []
    for name in SIZES:
        for side, window in (("before", comparison.before), ("after", comparison.after)):
            value = at_start(window, name)
            if value:
                told = name.rpartition(".")[2].removesuffix("_bytes").replace("_", " ")
                rows.append(Evidence(f"{told}, {side}", value, "bytes", "agent"))
    return tuple(rows)


def _grown(comparison: Comparison, name: str) -> float | None:
    before, after = at_start(comparison.before, name), at_start(comparison.after, name)
    return None if before is None or after is None else after - before


def _least(alive: float, grown: float | None) -> float:
    return alive if grown is None else max(0.0, min(alive, grown))


def _number(prints: Sequence[Fingerprint], name: str) -> float | None:
    value = prints[0].values.get(name) if prints else None
    return value if isinstance(value, (int, float)) else None
