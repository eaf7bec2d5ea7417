"""What happened per step on both sides: counts, bytes, faults, CPU seconds."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from ckpt_doctor.facts.active_time import ActiveTime
from ckpt_doctor.facts.comparison import CounterDelta
from ckpt_doctor.facts.run import HostSample, ProcessSample, RankRecord, Turn
from ckpt_doctor.stats.alignment import Arm

COUNTED = frozenset(
    {
        "batches",
        "elements",
        "samples",
        "worker_starts",
        "optimizer_steps",
        "backwards",
        "compiles",
        "graph_captures",
        "graph_replays",
        "gc_pauses",
        "snapshots",
        "snapshot_s",
    }
)
"""Counters that a hook raises only when something happens: a step without an entry had none."""
EVENTS: Mapping[str, str] = {
    "worker_starts": "worker_start",
    "compiles": "compile",
    "graph_captures": "graph_capture",
    "scaler_skips": "scaler_skip",
    "saves": "save",
}
"""Counters made of events: the counter's name, the signal's name."""
SAMPLED: Mapping[str, str] = {
    "tree_cpu_s": "cpu_s",
    "tree_minor_faults": "minor_faults",
    "tree_major_faults": "major_faults",
    "physical_read_bytes": "physical_read_bytes",
    "logical_read_bytes": "logical_read_bytes",
    "run_queue_s": "run_queue_s",
}
"""Counters of the whole process tree: the counter's name, the field of ProcessSample."""
HOST: Mapping[str, str] = {
    "refaults": "refaults",
    "swap_ins": "swap_ins",
    "pressure_memory_s": "pressure_memory_s",
    "left_over_cpu_s": "left_over_cpu_s",
}
"""Counters of the machine: the counter's name, the field of HostSample."""
MIN_KNOWN_SHARE = 0.5
"""A counter that fewer of the steps know is not known."""
_UNITS = {"s": "s/step", "bytes": "bytes/step"}

Sample = ProcessSample | HostSample


def compare_counters(before: Arm, after: Arm) -> dict[str, CounterDelta]:
    """All counters that at least one of the sides knows, per step."""
    sides = [per_step(before), per_step(after)]
    _fill_counts(before, after, sides)
    names = sorted(
        name for name in sides[0].keys() | sides[1].keys() if any(s.get(name) is not None for s in sides)
    )
    return {name: CounterDelta(name, _unit(name), sides[0].get(name), sides[1].get(name)) for name in names}


def per_step(arm: Arm) -> dict[str, float | None]:
    """One side's counters per compared step."""
    found: dict[str, float | None] = {name: column_mean(arm, name) for name in arm.rank.steps.counters}
    for name, signal in EVENTS.items():
        if signal not in arm.rank.not_measured and name not in found:
            found[name] = sum(1 for e in arm.rank.events_of(signal) if arm.first <= e.step < arm.last) / (
                arm.last - arm.first
            )
    for name, field in SAMPLED.items():
        found[name] = sampled_per_step(arm, arm.run.samples, attrgetter(field))
    found["input_elements"] = _input_elements(arm)
    for name, field in HOST.items():
        found[name] = sampled_per_step(arm, arm.run.host, attrgetter(field), paused=False)
    return found


def _input_elements(arm: Arm) -> float | None:
    """Mean size of the model's input in the watched steps since the origin; None where none was seen."""
    sizes = [e.fields.get("elements") for e in arm.rank.events_of("model_input") if e.step >= arm.origin]
    known = [size for size in sizes if isinstance(size, int)]
    return math.fsum(known) / len(known) if known else None


def sampled_per_step(
    arm: Arm, samples: Sequence[Sample], read: Callable[[Sample], float | None], *, paused: bool = True
) -> float | None:
    """Growth of a cumulative sample during the compared steps, per step; None where it is not known.

    Args:
        arm: Whose steps.
        samples: Samples in order of time.
        read: Takes the counter from a sample.
        paused: Whether the counter stands still while the arm is held, as the arm's own ones do.
    """
    total = growth(samples, read, [(a, b) for a, b, _ in arm.stretches()], arm.run.turns if paused else ())
    return None if total is None else total / sum(steps for *_, steps in arm.stretches())


def growth(
    samples: Sequence[Sample],
    read: Callable[[Sample], float | None],
    stretches: Iterable[tuple[float, float]],
    turns: Sequence[Turn],
) -> float | None:
    """Growth of a cumulative sample within some stretches of time; None where samples are missing.

    Values between two samples are interpolated over the time during which the process was running
    (it stands still between its turns), so what it did in a turn is not smeared into its pauses. A
    value that falls belongs to a process that ended, and counts as no growth.
    """
    known = [(sample.t_s, value) for sample in samples if (value := read(sample)) is not None]
    stretches = list(stretches)
    if len(known) < 2 or not stretches:
        return None
    if stretches[0][0] < known[0][0] - _reach_s(known) or stretches[-1][1] > known[-1][0] + _reach_s(known):
        return None
    clock = ActiveTime(turns)
    at = [clock.at(t_s) for t_s, _ in known]
    rises = [max(0.0, b - a) for (_, a), (_, b) in pairwise(known)]
    values = [0.0]
    for rise in rises:
        values.append(values[-1] + rise)
    return math.fsum(_value(at, values, clock.at(b)) - _value(at, values, clock.at(a)) for a, b in stretches)


def _reach_s(known: Sequence[tuple[float, float]]) -> float:
    """How far beyond the samples a stretch may reach: two sampling intervals."""
    return 2.0 * (known[-1][0] - known[0][0]) / (len(known) - 1)


def _value(at: Sequence[float], values: Sequence[float], t_s: float) -> float:
    """Linear interpolation; outside the samples the nearest value."""
    if t_s <= at[0]:
        return values[0]
    if t_s >= at[-1]:
        return values[-1]
    above = bisect_right(at, t_s)
    width = at[above] - at[above - 1]
    share = (t_s - at[above - 1]) / width if width > 0 else 1.0
    return values[above - 1] + (values[above] - values[above - 1]) * share


def column_mean(arm: Arm, name: str) -> float | None:
    """Mean of a counter that every step has, over the compared steps; None where it is not known."""
    column = arm.rank.steps.counters.get(name)
    if column is None:
        return None
    if name in COUNTED:
        return math.fsum(column[i] or 0.0 for i in arm.chosen) / len(arm.chosen)
    known = [value for i in arm.chosen if (value := column[i]) is not None]
    return math.fsum(known) / len(known) if len(known) >= MIN_KNOWN_SHARE * len(arm.chosen) else None


def _fill_counts(before: Arm, after: Arm, sides: Sequence[dict[str, float | None]]) -> None:
    """A count that one side has and the other never raised is 0 there, if it could be measured."""
    for name in COUNTED & (sides[0].keys() | sides[1].keys()):
        for arm, side in zip((before, after), sides, strict=True):
            if name not in side and not _unmeasured(arm.rank, name):
                side[name] = 0.0


def _unmeasured(rank: RankRecord, counter: str) -> bool:
    return counter in rank.not_measured or EVENTS.get(counter, counter) in rank.not_measured


def _unit(name: str) -> str:
    return _UNITS.get(name.rpartition("_")[2], "count/step")
