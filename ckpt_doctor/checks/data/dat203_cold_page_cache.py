"""The resumed run reads from the disk what the control read from memory.

What it means
-------------
The data that the next steps need are not in the page cache: the machine is another one or was
restarted, the order is other than before, or the resumed run leaves less memory to the cache, drops pages
behind itself or goes around the cache. It fades once everything has been read, unless the data are larger
than memory, read in a worse order, or dropped each time.

How it is measured
------------------
Bytes that came from the disk, per step and over the whole process tree, rose by
``loading.READ_RATIO`` and ``loading.READ_BYTES`` at least (major faults, for memory-mapped data, by
``loading.READ_RATIO`` and ``loading.FAULTS``), and so did the data side of the step: data wait, or
the rest of the step where no loader feeds it or where it grew without using the CPU. In that rest the
model computes too; what the process worked more (CPU time in user mode, where it has one thread) is not
counted. Nor is what worker restarts cost, nor waiting for memory (CMP311): there pages come back that had
been thrown out.

Pages had been in memory where the kernel counts them as refaults (``memory.REFAULT_SHARE`` of the further
reads), or where a probe's control read the same data in the same order without the disk.

How to fix it
-------------
Restore the data order, so that cached pages are used again; warm the cache before the run (read the
files once); give memory back to the cache (free the loaded checkpoint, pin less). Where the pages had been
in memory, warming does not last: take out what drops them (``posix_fadvise`` with
``POSIX_FADV_DONTNEED``) or bypasses the cache (``O_DIRECT``), or raise the memory limit.

When it is wrong
----------------
File systems in user space and some network file systems do not account their reads to the process;
then nothing is seen here and the wait stays unexplained. Data on the control's own disk may have been
read ahead by it for both.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading, memory
from ckpt_doctor.facts.comparison import Comparison, LineDelta
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

WARM = (
    "Restore the data order so that cached pages are used again, or read the files once before training "
    "starts (vmtouch -t, or cat into /dev/null); free what the load keeps in memory."
)
KEEP = (
    "Take out what drops the pages after they were read (posix_fadvise with POSIX_FADV_DONTNEED) or reads "
    "around the page cache (O_DIRECT); where nothing does, give the cache room: a higher memory limit, less "
    "kept of the load. Reading the files beforehand would not last."
)
"""What to do where the pages had been in memory."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge the physical reads against the data side of the step."""
    comparison = case.comparison
    if comparison is None:
        return None
    more = loading.reads_more(comparison)
    if more is None:
        return CannotTell(blame.why_unknown(comparison, "physical_read_bytes", "process_tree"))
    parts = loading.reading_parts(comparison)
    if not more or not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, parts):
        return None
    cost_s = loading.reading_s(comparison)
    if loading.restarts_workers(comparison):
        cost_s -= loading.restart_s(comparison)
    cost_s = max(0.0, cost_s - memory.host_cost_s(comparison))
    if blame.share_ratio(comparison, cost_s) < blame.MIN_SHARE:
        return None
    lines = blame.grown_lines(comparison, blame.MIN_SHARE * comparison.delta_s)
    again = memory.reads_again(comparison)
    known = ", which had been in memory" if again else ""
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"Each step waits {units.seconds(cost_s)} longer for data, and {_reads(comparison)}{known}.",
        remedy=KEEP if again else WARM,
        evidence=_evidence(comparison, parts, lines[:1]),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
        location=blame.location_of(lines) if loading.reads_itself(comparison) else None,
    )


def _reads(comparison: Comparison) -> str:
    physical = comparison.counter("physical_read_bytes")
    if blame.moved(physical, ratio=loading.READ_RATIO, least=loading.READ_BYTES) and physical is not None:
        now, then = units.size(physical.after or 0.0), units.size(physical.before or 0.0)
        return f"reads {now} from the disk ({then} before)"
    faults = comparison.counter("tree_major_faults")
    after, before = (faults.after or 0.0, faults.before or 0.0) if faults is not None else (0.0, 0.0)
    return f"has {units.number(after)} pages read on access ({units.number(before)} before)"


def _evidence(
    comparison: Comparison, parts: tuple[str, ...], lines: tuple[LineDelta, ...]
) -> tuple[Evidence, ...]:
    names = ("physical_read_bytes", "logical_read_bytes", "tree_major_faults", "refaults")
    physical, *others = (blame.counter_evidence(comparison.counter(name), "/proc") for name in names)
    grown = blame.part_evidence(comparison, parts) + blame.line_evidence(lines)
    return physical + grown + tuple(evidence for each in others for evidence in each)
