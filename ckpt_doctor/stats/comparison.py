"""Lays two runs side by side: all that the rules judge."""

from __future__ import annotations

from ckpt_doctor.errors import RecordingError
from ckpt_doctor.facts import floors
from ckpt_doctor.facts.comparison import Comparison, Contention, Interference, Window
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.stats.alignment import INTERLEAVED, Alignment, Arm, align
from ckpt_doctor.stats.arguments import changed_arguments
from ckpt_doctor.stats.attribution import budget, resample
from ckpt_doctor.stats.contention import contention, interference
from ckpt_doctor.stats.counters import column_mean, compare_counters
from ckpt_doctor.stats.files import rewritten_files
from ckpt_doctor.stats.fingerprints import compare_fingerprints, value_at_end
from ckpt_doctor.stats.intervals import detectable_ratio
from ckpt_doctor.stats.lines import grown_lines, sampler_cost
from ckpt_doctor.stats.order import check_order
from ckpt_doctor.stats.ranks import rank_deltas, slow_rank
from ckpt_doctor.stats.shapes import classify
from ckpt_doctor.stats.start_cost import settling_s, start_cost

STEADY_HEAP_FLOOR_RATIO = 1.10
"""One pair with fixed malloc thresholds on both sides read 0.96 to 1.05."""
UNPAIRED_FLOOR_RATIO = 1.30
"""Arms one after the other meet a machine in two moods: identical code read far more apart."""
CONTENTION_FLOOR = 0.4
"""Added to the floor when other work takes all cores; a part of it when it takes a part."""
QUIET_OTHERS_RATIO = 0.15
"""Others' use of the cores that does not raise the floor: the probe itself and the machine's own work."""
EVICTION_RATIO = 1.5
EVICTION_BYTES = 16384.0
"""The control's reads beside the resumed run against alone, per step: by factor and amount."""
STEADY_HEAP_KEY = "env.MALLOC_MMAP_THRESHOLD_"


def compare_runs(before: RunRecord, after: RunRecord, phase: str = INTERLEAVED) -> Comparison:
    """Compare the run before the save with the resumed one.

    Args:
        before: The uninterrupted control.
        after: The resumed run.
        phase: The turns that are compared, where there are such turns.

    Raises:
        RecordingError: One of them has no steps that can be compared.
    """
    ranks = _ranks(before, after)
    alignment = align(before, after, ranks, phase=phase)
    seen = interference(alignment.before)
    if seen is not None and evicts(seen):
        # Beside the resumed run the control is no control any more: it is judged by its time alone.
        alignment = align(before, after, ranks, alone=True, phase=phase)
    one, two = alignment.before, alignment.after
    experiment = resample(alignment)
    ratio = experiment.ratio()
    around = contention(one, two)
    floor = effect_floor(alignment, around)
    settling = settling_s(one, two)
    lasting = ratio.low > 1.0 and ratio.value >= floor
    sampler = sampler_cost((one, two))
    several = max(len(before.ranks), len(after.ranks)) > 1
    return Comparison(
        before=_window(one, experiment.before[0]),
        after=_window(two, experiment.after[0]),
        ratio=ratio,
        detectable_ratio=detectable_ratio(ratio),
        effect_floor_ratio=floor,
        budget=budget(alignment, experiment),
        counters=compare_counters(one, two),
        changes=compare_fingerprints(one.rank, (one.first, one.last), two.rank, (two.first, two.last)),
        shape=classify(one.times_s(), two.times_s(), lasting=lasting, settling_s=settling),
        before_start=start_cost(before, one.rank),
        after_start=start_cost(after, two.rank),
        order=check_order(one.rank, one.origin, two.rank, two.origin, replaced="control" in alignment.notes),
        contention=around,
        interference=seen,
        lines=grown_lines(one, two),
        ranks=rank_deltas(before, after) if several else (),
        slow_rank=slow_rank(after),
        paired=alignment.paired,
        agent_per_step_s=max((r.hook_s for r in (one.rank, two.rank) if r.hook_s is not None), default=None),
        sampler_ratio=None if sampler is None else sampler.value,
        sampler_low_ratio=None if sampler is None else sampler.low,
        not_measured=_not_measured(alignment),
        settling_s=settling,
        arguments=changed_arguments(before.meta, after.meta),
        rewritten_files=rewritten_files(before, after),
    )


def evicts(seen: Interference) -> bool:
    """Whether the resumed run made the control slower, by making it read from the disk again.

    The clock alone is not enough to leave the interleaved turns: the machine's mood changes too.
    """
    alone, beside = seen.alone_physical_bytes_per_step, seen.beside_physical_bytes_per_step
    if alone is None or beside is None or seen.ratio.low <= 1.0 or seen.ratio.value < floors.PAIRED_RATIO:
        return False
    return beside >= EVICTION_RATIO * alone and beside - alone >= EVICTION_BYTES


def effect_floor(alignment: Alignment, around: Contention) -> float:
    """The smallest ratio that is called a slowdown when nothing but the clock speaks for it."""
    floor = UNPAIRED_FLOOR_RATIO
    if alignment.paired:
        steady = all(value_at_end(arm.rank, STEADY_HEAP_KEY) for arm in (alignment.before, alignment.after))
        floor = STEADY_HEAP_FLOOR_RATIO if steady else floors.PAIRED_RATIO
    others = [r for r in (around.other_cpu_ratio_before, around.other_cpu_ratio_after) if r is not None]
    return floor + CONTENTION_FLOOR * max(0.0, min(1.0, max(others, default=0.0)) - QUIET_OTHERS_RATIO)


def _ranks(before: RunRecord, after: RunRecord) -> tuple[int, int]:
    """Places of the process to compare: the rank that others wait for, else the lowest in both."""
    places = [
        {rank.rank: i for i, rank in enumerate(run.ranks) if len(rank.steps)} for run in (before, after)
    ]
    for run, found in zip((before, after), places, strict=True):
        if not found:
            raise RecordingError(
                f"{run.meta.path}: no optimizer step was recorded",
                hint="record a training run until it has done some steps",
            )
    wanted = slow_rank(after)
    common = sorted(places[0].keys() & places[1].keys())
    if wanted is not None and wanted in common:
        return places[0][wanted], places[1][wanted]
    if common:
        return places[0][common[0]], places[1][common[0]]
    return places[0][min(places[0])], places[1][min(places[1])]


def _window(arm: Arm, step_s: float) -> Window:
    return Window(
        run=arm.run,
        rank=arm.rank,
        first=arm.first,
        last=arm.last,
        origin=arm.origin,
        step_s=step_s,
        samples_per_s=_samples_per_s(arm, step_s),
    )


def _samples_per_s(arm: Arm, step_s: float) -> float | None:
    samples = column_mean(arm, "samples")
    return samples / step_s if samples else None


def _not_measured(alignment: Alignment) -> dict[str, str]:
    """Why something is missing on either side, and what was replaced."""
    missing: dict[str, str] = {}
    for arm in (alignment.before, alignment.after):
        missing.update(arm.run.not_measured)
        missing.update(arm.rank.not_measured)
    missing.update(alignment.notes)
    return missing
