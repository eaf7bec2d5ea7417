"""The resumed run prepares data again that the control had at hand.

What it means
-------------
Decoding, tokenising or filtering was done once and kept, in memory or in a cache on disk. After the resume
the kept result is missing, or is looked for under another name (a key that holds the arguments, and so
the checkpoint's path), and the work is done again: once, or for each sample.

How it is measured
------------------
Once: the resumed run wrote files that are read, where the control only read them or others of their kind in
the same folder, and its start took ``blame.ONE_TIME_S`` and ``blame.ONE_TIME_RATIO`` longer, imports,
loading, workers and compilation left out. In each step: data wait grew, at least ``CPU_SHARE`` of it as
CPU time, no other mechanism of the data side moved, and lines of the user's own that the control hardly
runs (``NEW_SHARE`` of their time) make up ``SHOWN_SHARE`` of the growth, or files were written again.

How to fix it
-------------
Keep the prepared data beside the run, under a name that depends on nothing but the raw data and the
preprocessing, and load them after a resume.

When it is wrong
----------------
New lines that use the CPU can also be another kind of work (stronger augmentation after the resume). Files
that native code writes are not seen, nor are any in a plain recording; without stacks no line is. Work in
worker processes shows by the files alone.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.comparison import Comparison, LineDelta, Shape, StartCost
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Found, Severity, Side

SHOWN_SHARE = 0.5
"""Part of the growth that lines which are new must take."""
CPU_SHARE = 0.25
"""Part of the growth that must be CPU time: where CPUs are shared, work takes several times as long."""
NEW_SHARE = 0.2
"""A line that took at most this part of its time in the control is one that the control hardly runs."""
FILES_SHOWN = 3
"""So many files are named."""
REMEDY = (
    "Keep the prepared data under a name that depends on the raw data and the preprocessing alone, not on "
    "the run's arguments, and load them on resume."
)


def find(case: Case) -> tuple[Found, ...] | None:
    """Judge the start, and the data side of the steps."""
    comparison = case.comparison
    if comparison is None:
        return None
    return tuple(f for f in (_once(comparison), _lasting(comparison)) if f is not None)


def _once(comparison: Comparison) -> Found | None:
    before_s, after_s = _preparing_s(comparison.before_start), _preparing_s(comparison.after_start)
    if not comparison.rewritten_files or before_s is None or after_s is None:
        return None
    cost_s = after_s - before_s
    if cost_s < blame.ONE_TIME_S or after_s < blame.ONE_TIME_RATIO * before_s:
        return None
    spent_s = _first_step_cpu_s(comparison)
    worked = spent_s is not None and spent_s >= CPU_SHARE * cost_s
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"The start took {units.seconds(cost_s)} longer than a fresh one, and "
        f"{len(comparison.rewritten_files)} files were made again that were there before.",
        remedy=REMEDY,
        evidence=(
            *_file_evidence(comparison),
            Evidence("start without imports, loading and workers, before", before_s, "s", "agent"),
            Evidence("start without imports, loading and workers, after", after_s, "s", "agent"),
            Evidence("CPU time until the first step grew by", spent_s, "s", "getrusage"),
        ),
        confidence=Confidence.CONFIRMED if worked else Confidence.SUPPORTED,
        delta_s=cost_s,
        shape=Shape.ONE_TIME,
    )


def _lasting(comparison: Comparison) -> Found | None:
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, ("data_wait",)):
        return None
    cost_s = loading.wait_s(comparison)
    fresh = _new_lines(comparison)
    shown = sum(line.delta_s for line in fresh) >= SHOWN_SHARE * cost_s
    if not (shown or comparison.rewritten_files) or _moved_otherwise(comparison):
        return None
    # Lines are the process's own; files may be made by its workers.
    spent_s = blame.cpu_growth_s(comparison) if shown else _tree_cpu_s(comparison)
    if spent_s is None or spent_s < CPU_SHARE * cost_s:
        return None
    lines = fresh if shown else ()
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"Each step waits {units.seconds(cost_s)} longer for data, and spends it on preparing them "
        f"in {_place(comparison, lines)}, which the control does not do.",
        remedy=REMEDY,
        evidence=(
            *_file_evidence(comparison),
            *blame.part_evidence(comparison, ("data_wait",)),
            Evidence("CPU time grew by", spent_s, "s/step", "getrusage" if shown else "/proc"),
            *blame.line_evidence(lines),
        ),
        confidence=Confidence.CONFIRMED if shown else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
        location=blame.location_of(lines),
    )


def _preparing_s(start: StartCost) -> float | None:
    """Seconds until the first step was done that none of the other parts of the start explains."""
    if start.first_step_s is None:
        return None
    other = (start.imports_s, start.load_s, start.workers_s, start.fast_forward_s, start.compile_s)
    return start.first_step_s - sum(part or 0.0 for part in other)


def _first_step_cpu_s(comparison: Comparison) -> float | None:
    """CPU seconds that the resumed process used more until its first step was done."""
    columns = [w.rank.steps.counters.get("user_s") for w in (comparison.before, comparison.after)]
    spent = [column[0] if column else None for column in columns]
    return None if spent[0] is None or spent[1] is None else spent[1] - spent[0]


def _tree_cpu_s(comparison: Comparison) -> float | None:
    """CPU seconds per step that all processes of the run used more."""
    tree = comparison.counter("tree_cpu_s")
    return None if tree is None else tree.delta


def _new_lines(comparison: Comparison) -> tuple[LineDelta, ...]:
    grown = blame.grown_lines(comparison, blame.MIN_SHARE * comparison.delta_s)
    return tuple(line for line in grown if line.before_s <= NEW_SHARE * line.after_s)


def _moved_otherwise(comparison: Comparison) -> bool:
    """Whether another cause on the data side accounts for the work."""
    return bool(
        loading.works_more(comparison) > 1.0
        or loading.reads_more(comparison)
        or loading.restarts_workers(comparison)
        or loading.poorer_arguments(comparison)
        or loading.snapshots_more(comparison)
    )


def _place(comparison: Comparison, lines: tuple[LineDelta, ...]) -> str:
    if lines:
        return f"{lines[0].line.file}:{lines[0].line.line}"
    return f"{len(comparison.rewritten_files)} files that it writes again"


def _file_evidence(comparison: Comparison) -> tuple[Evidence, ...]:
    files = comparison.rewritten_files
    if not files:
        return ()
    number = Evidence("files made again", len(files), None, "agent")
    return (number, *(Evidence("made again", path, None, "agent") for path in files[:FILES_SHOWN]))
