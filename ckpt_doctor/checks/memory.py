"""What the rules about memory share: sizes out of the fingerprints, pressure, and what a load has left."""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, Window
from ckpt_doctor.facts.run import Fingerprint

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
RETRIES = 0.02
"""Further emptied caches per step that count: each gives memory back, and waits for the device."""


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


def _grown(comparison: Comparison, name: str) -> float | None:
    before, after = at_start(comparison.before, name), at_start(comparison.after, name)
    return None if before is None or after is None else after - before


def _least(alive: float, grown: float | None) -> float:
    return alive if grown is None else max(0.0, min(alive, grown))


def _number(prints: Sequence[Fingerprint], name: str) -> float | None:
    value = prints[0].values.get(name) if prints else None
    return value if isinstance(value, (int, float)) else None
