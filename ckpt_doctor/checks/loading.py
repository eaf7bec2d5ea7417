"""What the rules about the data side share: which of the loading mechanisms moved, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean

from ckpt_doctor.checks import blame, evaluating, likeness
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange, Window
from ckpt_doctor.facts.run import Event

READ_RATIO = 1.5
"""Growth of the physically read bytes per step that counts."""
READ_BYTES = 16384.0
"""Least growth of the physically read bytes per step: four pages; less costs nothing to speak of."""
FAULTS = 0.5
"""Least growth of major faults per step."""
RESTARTS = 2
"""So many more worker starts than in the control's window are too many."""
RESTART_RATIO = 2.0
"""Growth of worker starts per step that counts."""
SNAPSHOTS_RATIO = 1.5
"""Growth of a stateful loader's snapshots per step that counts."""
SNAPSHOTS = 0.5
"""Least growth of them: one in every other step."""
WAITING_CPU_SHARE = 0.5
"""Parts that grew with less CPU time than this part of their growth are waiting, not working."""
WORK = ("batches", "elements", "input_elements")
"""More of these per step, by ``likeness.WORK_RATIO``, is another cause (DAT202, WRK501)."""
FEWER = ("num_workers", "prefetch_factor", "pin_memory")
OTHER = ("kind", "context", "collate_fn", "batch_size")


def reads_more(comparison: Comparison) -> bool | None:
    """Whether the resumed run reads more from the disk per step; None where that is unknown."""
    bytes_moved = blame.moved(comparison.counter("physical_read_bytes"), ratio=READ_RATIO, least=READ_BYTES)
    faults_moved = blame.moved(comparison.counter("tree_major_faults"), ratio=READ_RATIO, least=FAULTS)
    known = [moved for moved in (bytes_moved, faults_moved) if moved is not None]
    return any(known) if known else None


def restarts_workers(comparison: Comparison) -> bool:
    """Whether the resumed run starts loader workers again and again, more often than the control.

    What more evaluation starts, is its doing (WRK504).
    """
    found = evaluating.more(comparison)
    evaluated = (found.before.steps, found.after.steps) if found is not None else (frozenset(), frozenset())
    counts = [
        sum(event.step not in steps for event in window.events_within("worker_start"))
        for window, steps in zip((comparison.before, comparison.after), evaluated, strict=True)
    ]
    rates = [
        count / window.steps
        for count, window in zip(counts, (comparison.before, comparison.after), strict=True)
    ]
    return counts[1] >= counts[0] + RESTARTS and rates[1] >= RESTART_RATIO * rates[0]


def restart_s(comparison: Comparison) -> float:
    """Seconds per step that starting workers and waiting for their first batch cost more than before."""
    return _restart_s(comparison.after) - _restart_s(comparison.before)


def after_starts_s(comparison: Comparison) -> float:
    """Seconds per step that the resumed run loses outside the loader, in the steps that follow worker starts.

    A fork makes each page that the training writes next be copied first, and workers that fill their
    queues want the CPU. What the first half of the steps between two starts takes longer than the second
    half, and no more than these parts grew, is the starts' doing.
    """
    window = comparison.after
    starts = sorted({event.step for event in window.events_within("worker_start")})
    near, far = [], []
    for first, following in pairwise([*starts, window.last]):
        middle = (first + following + 1) // 2
        near += [evaluating.outside_s(window, i) for i in range(first, middle)]
        far += [evaluating.outside_s(window, i) for i in range(middle, following)]
    if not near or not far:
        return 0.0
    excess_s = (fmean(near) - fmean(far)) * len(near) / (len(near) + len(far))
    others = [part.part for part in comparison.budget if part.part != "data_wait"]
    return max(0.0, min(excess_s, blame.growth_s(comparison, others)))


def works_more(comparison: Comparison) -> float:
    """The factor by which a step draws more data; 1 where it does not, or is not known to."""
    known = [blame.factor(comparison.counter(name)) or 1.0 for name in WORK]
    most = max(known)
    return most if most >= likeness.WORK_RATIO else 1.0


def wait_s(comparison: Comparison) -> float:
    """Seconds per step that waiting longer for data costs: never more than the whole step took longer."""
    return min(blame.growth_s(comparison, ("data_wait",)), max(0.0, comparison.delta_s))


def reads_itself(comparison: Comparison) -> bool:
    """Whether the resumed run reads in the training process, whose stacks are known, and not in workers."""
    if "worker_start" in comparison.not_measured:
        return False
    starts = comparison.after.rank.events_of("worker_start")
    return all(event.step >= comparison.after.last for event in starts)


def snapshots_more(comparison: Comparison) -> bool:
    """Whether the state of a stateful loader is put together more often."""
    return bool(blame.moved(comparison.counter("snapshots"), ratio=SNAPSHOTS_RATIO, least=SNAPSHOTS))


def poorer_arguments(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    """Arguments of the training loader that changed so that it can deliver less at a time."""
    changes = blame.changes_of(comparison, "", FEWER + OTHER)
    return tuple(c for c in changes if _is_loader(c.key) and _is_poorer(c))


def reading_parts(comparison: Comparison) -> tuple[str, ...]:
    """The parts in which the run waits for its reads.

    Data wait, where a loader feeds the steps; where that did not grow, but other parts did without
    using more CPU time, the script reads in these.
    """
    usual = blame.data_parts(comparison)
    other = ("forward", "rest")
    spent_s = blame.cpu_growth_s(comparison)
    if blame.grew(comparison, usual) or spent_s is None:
        return usual
    waits = spent_s < WAITING_CPU_SHARE * blame.growth_s(comparison, other)
    return other if waits and blame.grew(comparison, other) else usual


def reading_s(comparison: Comparison) -> float:
    """Seconds per step that the parts in which the run waits for its reads grew by.

    Where the model computes in these parts too, its own work is left out: what a process with one thread
    used more of CPU time in user mode, since reading takes the kernel's time, or none.
    """
    parts = reading_parts(comparison)
    grown_s = blame.growth_s(comparison, parts)
    worked = comparison.counter("user_s")
    if parts == ("data_wait",) or worked is None or worked.delta is None:
        return grown_s
    if not blame.has_one_thread(comparison):
        return grown_s
    return min(grown_s, comparison.delta_s - max(0.0, worked.delta))


def loaders_with_workers(window: Window) -> tuple[Event, ...]:
    """First uses of loaders that have workers, from the process's start to the window's end."""
    events = window.rank.events_of("loader")
    return tuple(e for e in events if e.step < window.last and e.fields.get("num_workers"))


def user_lines(events: Iterable[Event], prefix: str = "") -> tuple[tuple[str, int], ...]:
    """The user's lines that led to some events, most frequent first.

    Args:
        events: What the lines led to.
        prefix: How the fields ``file`` and ``line`` begin, where an event tells several places.
    """
    seen: dict[tuple[str, int], int] = {}
    for event in events:
        file, line = event.fields.get(f"{prefix}file"), event.fields.get(f"{prefix}line")
        if isinstance(file, str) and isinstance(line, int):
            seen[file, line] = seen.get((file, line), 0) + 1
    return tuple(sorted(seen, key=lambda place: -seen[place]))


def _restart_s(window: Window) -> float:
    starts = window.events_within("worker_start")
    steps = {event.step for event in starts}
    first_batches = [e for e in window.events_within("first_batch") if e.step in steps]
    return math.fsum(e.duration_s or 0.0 for e in (*starts, *first_batches)) / window.steps


def _is_loader(key: str) -> bool:
    return key.startswith("loader.")


def _is_poorer(change: FingerprintChange) -> bool:
    name = change.key.rpartition(".")[2]
    if name in OTHER:
        return True
    before, after = change.before, change.after
    return isinstance(before, (int, float)) and isinstance(after, (int, float)) and after < before
