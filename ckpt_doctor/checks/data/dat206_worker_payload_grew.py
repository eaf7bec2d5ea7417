"""The resumed run's loader carries more with it: to each worker at its start, or with every batch.

What it means
-------------
The data set holds something heavy since the resume: the loaded checkpoint, a list of what has been seen.
Spawned workers get it pickled, forked ones inherit it page by page. A stateful loader puts its workers'
states together after every batch (``snapshot_every_n_steps=1``), and sends what has changed in them.

How it is measured
------------------
Payload: the pickled bytes sent to a worker (spawn, forkserver) or the resident memory of one (fork) rose by
``GROWTH_RATIO`` and ``PAYLOAD_BYTES`` or ``RESIDENT_BYTES``, and a start of workers takes longer: an error
once from ``blame.ONE_TIME_S`` and ``blame.ONE_TIME_RATIO`` on, or per step where workers start within the
window and data wait grew. Snapshots: their number per step rose (``loading.SNAPSHOTS``), or the bytes of
the workers' states in one by ``GROWTH_RATIO`` and ``SNAPSHOT_BYTES``, and data wait grew.

How to fix it
-------------
Keep the checkpoint and histories out of the data set; ``snapshot_every_n_steps`` as large as the interval
between two saves.

When it is wrong
----------------
A machine that starts processes slowly makes starts longer too: then the payload is the same. Sizes of
snapshots are estimated from a part of their entries. Starts that come more often are DAT204.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading, memory
from ckpt_doctor.facts.comparison import Comparison, Shape, Window
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side

GROWTH_RATIO = 1.5
"""Growth of sizes and numbers that counts."""
PAYLOAD_BYTES = 1e6
"""Least growth of what is pickled for a worker: less takes milliseconds."""
RESIDENT_BYTES = 64e6
"""Least growth of a forked worker's memory: its page tables are copied, and pages when they are touched."""
SNAPSHOT_BYTES = 100e3
"""Least growth of a snapshot: about a millisecond to pickle, send and read."""
REMEDY = (
    "Keep the loaded checkpoint and growing histories out of the data set, and set "
    "snapshot_every_n_steps to the interval between two saves."
)


class _Size(NamedTuple):
    """A size on both sides, in bytes; None where it is unknown."""

    what: str
    before: float | None
    after: float | None

    def rose(self, least: float) -> bool:
        """Whether it is known on both sides and grew."""
        if self.before is None or self.after is None:
            return False
        return self.after >= GROWTH_RATIO * self.before and self.after - self.before >= least

    def evidence(self) -> tuple[Evidence, ...]:
        """Both sides, as far as they are known."""
        rows = (("before", self.before), ("after", self.after))
        return tuple(
            Evidence(f"{self.what}, {side}", v, "bytes", "agent") for side, v in rows if v is not None
        )


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge what goes to the workers, and what comes back with every batch."""
    comparison = case.comparison
    if comparison is None:
        return None
    return tuple(f for f in (_starts(comparison), _snapshots(comparison)) if f is not None)


def _starts(comparison: Comparison) -> Found | None:
    windows = (comparison.before, comparison.after)
    sent = _Size("pickled for a worker", *map(_sent_bytes, windows))
    resident = _Size("resident memory of a worker", *map(_resident_bytes, windows))
    before_s, after_s = map(_start_s, windows)
    if not sent.rose(PAYLOAD_BYTES) and not resident.rose(RESIDENT_BYTES):
        return None
    if before_s is None or after_s is None or after_s < blame.ONE_TIME_RATIO * before_s:
        return None
    cost_s, lasting = after_s - before_s, _starts_cost(comparison)
    if lasting:
        starts = len(comparison.after.events_within("worker_start"))
        grown_s = loading.wait_s(comparison)
        cost_s = min(grown_s, cost_s * starts / comparison.after.steps)
    elif cost_s < blame.ONE_TIME_S:
        return None
    told = units.per_step(cost_s) if lasting else f"{units.seconds(cost_s)} at each start"
    heavier = sent if sent.rose(PAYLOAD_BYTES) else resident
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"Each worker is given more than before ({units.size(heavier.before or 0.0)} -> "
        f"{units.size(heavier.after or 0.0)}), which costs {told}.",
        remedy=REMEDY,
        evidence=(
            *sent.evidence(),
            *resident.evidence(),
            Evidence("start of workers and first batch, before", before_s, "s", "agent"),
            Evidence("start of workers and first batch, after", after_s, "s", "agent"),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s) if lasting else None,
        delta_s=cost_s,
        shape=Shape.PERIODIC if lasting else Shape.ONE_TIME,
    )


def _starts_cost(comparison: Comparison) -> bool:
    """Whether starts within the window make the steps slower."""
    starts = comparison.after.events_within("worker_start")
    slower = blame.is_slower(comparison, proven=True) and blame.grew(comparison, ("data_wait",))
    return bool(starts) and slower


def _snapshots(comparison: Comparison) -> Found | None:
    number = comparison.counter("snapshots")
    windows = (comparison.before, comparison.after)
    size = _Size("size of a snapshot", *(memory.at_end(w, "memory.snapshot_bytes") for w in windows))
    more = loading.snapshots_more(comparison)
    if not more and not size.rose(SNAPSHOT_BYTES):
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, ("data_wait",)):
        return None
    cost_s = loading.wait_s(comparison)
    if loading.restarts_workers(comparison):
        cost_s = max(0.0, cost_s - loading.restart_s(comparison))
    how = "more often" if more else f"with every batch, and has grown to {units.size(size.after or 0.0)}"
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"The loader's state is put together {how}; each step waits {units.seconds(cost_s)} longer "
        "for data.",
        remedy=REMEDY,
        evidence=(
            *blame.counter_evidence(number, "agent"),
            *size.evidence(),
            *blame.part_evidence(comparison, ("data_wait",)),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
    )


def _sent_bytes(window: Window) -> float | None:
    """Mean pickled size of what a worker was sent until the window's end."""
    events = [e for e in window.rank.events_of("worker_payload") if e.step < window.last]
    return _mean([size for e in events if isinstance(size := e.fields.get("bytes"), int)])


def _resident_bytes(window: Window) -> float | None:
    """Mean resident memory of the process's children."""
    total, count = (memory.at_end(window, f"memory.{n}") for n in ("children_rss_bytes", "children"))
    return total / count if total is not None and count else None


def _start_s(window: Window) -> float | None:
    """Mean seconds of a start of workers with the first batch after it, until the window's end."""
    starts = [e for e in window.rank.events_of("worker_start") if e.step < window.last]
    steps = {event.step for event in starts}
    batches = [e for e in window.rank.events_of("first_batch") if e.step in steps and e.fields.get("workers")]
    return math.fsum(e.duration_s or 0.0 for e in (*starts, *batches)) / len(starts) if starts else None


def _mean(values: list[int]) -> float | None:
    return math.fsum(values) / len(values) if values else None
