"""What stood in the way of the runs: other work on the machine, and the runs themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import cast

from ckpt_doctor.facts.comparison import Contention, Interference
from ckpt_doctor.facts.run import HostSample, ProcessSample, RunRecord
from ckpt_doctor.stats.alignment import ALONE, INTERLEAVED, WARM_UP_STEPS, Arm, mean, step_turns
from ckpt_doctor.stats.counters import Sample, growth, sampled_per_step
from ckpt_doctor.stats.fingerprints import value_at_end
from ckpt_doctor.stats.intervals import quantile, resample_blocks

MIN_INTERFERENCE_STEPS = 10
"""Steps that each of the control's two phases needs to be compared with the other."""
OWN_PARTS = ("forward", "backward", "optimizer")
"""Parts of the model's own work."""
QUICKEST = 0.1
MIN_STRETCH_STEPS = 20
"""Steps that are needed to know the quickest tenth of them."""
SHORTEST_STRETCH_S = 0.05
"""Less observed time gives no ratio."""

Stretch = tuple[float, float]


def contention(before: Arm, after: Arm) -> Contention:
    """How much other processes took from each run during its compared steps."""
    cores = _cores(before, after)
    steals = [_host_ratio(arm, _steal) for arm in (before, after)]
    others = [_other_cpu_ratio(arm, cores) for arm in (before, after)]
    steal = max((s for s in steals if s is not None), default=None)
    return Contention(
        run_queue_ratio_before=_run_queue_ratio(before),
        run_queue_ratio_after=_run_queue_ratio(after),
        other_cpu_ratio_before=others[0],
        other_cpu_ratio_after=others[1],
        steal_ratio=None if steal is None or cores is None else steal / cores,
        stretch_ratio_before=None if others[0] is not None else stretch_ratio(before),
        stretch_ratio_after=None if others[1] is not None else stretch_ratio(after),
    )


def stretch_ratio(arm: Arm) -> float | None:
    """How many times longer the model's own work takes in the usual step than in the quickest tenth of them.

    Its work is the same in every step, or known by the size of the batch: what makes half of the steps take
    much longer than the quickest is something else that runs there. A device's own time counts where it is
    known, else that of forward, backward and optimizer. None where there are too few steps.
    """
    taken = sorted(_own_work_s(arm))
    quickest = quantile(taken, QUICKEST) if len(taken) >= MIN_STRETCH_STEPS else 0.0
    return quantile(taken, 0.5) / quickest if quickest > 0 else None


def _own_work_s(arm: Arm) -> Iterator[float]:
    """Seconds of the model's own work in each compared step, per unit of work where that is known."""
    steps = arm.rank.steps
    busy, work = steps.counters.get("device_busy_s"), steps.counters.get("multiply_adds")
    parts = [steps.parts[part] for part in OWN_PARTS if part in steps.parts]
    for i in arm.chosen:
        seconds = busy[i] if busy is not None else math.fsum(column[i] for column in parts)
        amount = work[i] if work is not None else 1.0
        if seconds is not None and amount:
            yield seconds / amount


def interference(arm: Arm) -> Interference | None:
    """The control's steps before the resumed run came alive against those beside it.

    None where the probe did not make both kinds of turns, or one has too few steps.
    """
    phases = [_phase(arm, ALONE), _phase(arm, INTERLEAVED)]
    if min(map(len, phases)) < MIN_INTERFERENCE_STEPS:
        return None
    times = [[(arm.rank.steps.step_s(i),) for i in steps] for steps in phases]
    physical = [_physical(arm, steps) for steps in phases]
    return Interference(
        alone_step_s=mean([row[0] for row in times[0]]),
        beside_step_s=mean([row[0] for row in times[1]]),
        ratio=resample_blocks(times[0], times[1]).ratio(),
        alone_physical_bytes_per_step=physical[0],
        beside_physical_bytes_per_step=physical[1],
    )


def _phase(arm: Arm, phase: str) -> list[int]:
    """The control's steps of one phase: alone are those before the save, once it has settled in."""
    turns = step_turns(arm.run, arm.rank, phase)
    compiled = {e.step for e in arm.rank.events_of("compile")}
    first = WARM_UP_STEPS if phase == ALONE else arm.origin + 1
    return [i for turn in turns for i in turn if i >= first and i not in compiled]


def _physical(arm: Arm, steps: Sequence[int]) -> float | None:
    part = Arm(arm.run, arm.rank, arm.origin, steps[0], steps[-1] + 1, tuple(steps), ())
    return sampled_per_step(part, arm.run.samples, lambda s: cast(ProcessSample, s).physical_read_bytes)


def _run_queue_ratio(arm: Arm) -> float | None:
    stretches = _times(arm)
    waited = growth(arm.run.samples, lambda s: cast(ProcessSample, s).run_queue_s, stretches, arm.run.turns)
    return None if waited is None else _ratio(waited, stretches)


def _other_cpu_ratio(arm: Arm, cores: int | None) -> float | None:
    own_s = growth(arm.run.samples, lambda s: cast(ProcessSample, s).cpu_s, _times(arm), arm.run.turns)
    busy = _host_ratio(arm, lambda s: cast(HostSample, s).busy_s)
    own = None if own_s is None else _ratio(own_s, _times(arm))
    if own is None or busy is None or cores is None:
        return None
    return max(0.0, busy - own) / cores


def _host_ratio(arm: Arm, read: object) -> float | None:
    stretches = _times(arm)
    used = growth(arm.run.host, read, stretches, ())  # type: ignore[arg-type]
    return None if used is None else _ratio(used, stretches)


def _steal(sample: Sample) -> float | None:
    return cast(HostSample, sample).steal_s


def _times(arm: Arm) -> list[Stretch]:
    return [(a, b) for a, b, _ in arm.stretches()]


def _ratio(amount_s: float, stretches: Sequence[Stretch]) -> float | None:
    total = sum(b - a for a, b in stretches)
    return amount_s / total if total >= SHORTEST_STRETCH_S else None


def _cores(before: Arm, after: Arm) -> int | None:
    """Cores of the machine as far as the runs know them: all of them, else those they may use."""
    told = [value_at_end(arm.rank, key) for arm in (before, after) for key in ("cpus.online", "cpus.allowed")]
    counts = [count for count in told if isinstance(count, int)]
    counts += [s.cpus_allowed for arm in (before, after) for s in _sampled(arm.run) if s.cpus_allowed]
    return max(counts, default=None)


def _sampled(run: RunRecord) -> Sequence[ProcessSample]:
    return run.samples
