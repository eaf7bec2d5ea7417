"""What the rules about two runs have in common: when something is slower, grew, moved or explains.

A cause is *confirmed* when its part of the step time grew and its counter moved, *suspected* when only
one of the two did. What no contention can move (bytes, counts, settings) proves a mechanism, so a
slowdown that has one needs a smaller effect than one that only the clock shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckpt_doctor.checks import hosts, likeness
from ckpt_doctor.facts import floors
from ckpt_doctor.facts.comparison import (
    Comparison,
    CounterDelta,
    FingerprintChange,
    LineDelta,
    Shape,
    Window,
)
from ckpt_doctor.facts.report import Confidence, Evidence, Finding, Location, Severity
from ckpt_doctor.facts.run import PARTS

PROVEN_FLOOR_SHARE = 0.5
"""A slowdown with a proven mechanism needs this part of the effect floor's distance from 1."""
MIN_SHARE = 0.1
"""A part that grew by less than this part of the whole slowdown is not said to have grown."""
BUSY_OTHERS_RATIO = 0.25
"""Other processes that use this much of all cores (and make the runs wait) contend with them ..."""
BUSY_QUEUE_RATIO = 0.1
"""... when the runs wait for a CPU this long per second."""
QUEUE_ALONE_RATIO = 0.5
"""Where other processes' use is unknown, so long a wait is called contention."""
STRETCH_RATIO = 1.5
"""Where others' use is unknown: the model's own work in the usual step against the run's quickest steps.
Traces of scripts with one thread read 1.0 to 1.4 when left alone, and 1.5 to 6 beside busy neighbours."""
STEAL_RATIO = 0.05
"""Part of the machine's time that its host gave to others."""
MIN_STEPS = 20
"""With fewer compared steps on a side, the clock alone proves nothing."""
MIN_ENTRIES = 6
"""Entries of a log, each a mean over several steps, that are needed to know how far such means scatter."""
MAX_DETECTABLE_RATIO = 1.30
"""Steps so noisy that only larger slowdowns would show cannot be called equally fast."""
MAX_HIDDEN_RATIO = 1.20
"""However noisy: where the interval ends below this, no slowdown that matters is hidden."""
UNEXPLAINED_SHARE = 0.25
"""Part of the slowdown that must be left unexplained to be reported."""
WORK_SHARE = 0.5
"""On a busy machine, part of an unexplained slowdown that must be CPU time of the process itself."""
ONE_TIME_S = 2.0
"""One-time costs matter from this many seconds on ..."""
ONE_TIME_RATIO = 1.5
"""... when they are this many times those of the control's own start."""
STEADY_HEAP_KEY = "env.MALLOC_MMAP_THRESHOLD_"
HEAVY_OBSERVER_RATIO = 0.15
"""Observing that takes this part of a step leaves the clock nothing to prove."""
GROWING_RATIO = 1.2
"""The last third of a window over its first third, from which on a growing cost is called one."""
OPTIMIZERS_GROWTH_SHARE = 0.5
"""Part of a growth within the window from which on it is the optimizer step's own."""
CPU_KEYS = ("cpus.allowed", "threads.intra_op", "env.OMP_NUM_THREADS", "env.MKL_NUM_THREADS")
"""Settings that say how many CPUs a process may use, and how many it wants to."""


def proven_floor_ratio(comparison: Comparison) -> float:
    """The smallest ratio that is called a slowdown when a counter or a setting speaks for it too."""
    return 1.0 + (comparison.effect_floor_ratio - 1.0) * PROVEN_FLOOR_SHARE


def is_slower(comparison: Comparison, *, proven: bool) -> bool:
    """Whether the resumed run's steps are slower beyond noise.

    The interval knows the noise within these two processes, but not what any two processes differ by.
    So where only the clock speaks, its lower end has to be above more than 1, unless the interval is one over
    several pairs of processes. Different experiments are none slower than the other, nor are commands that
    differ, where only the clock speaks; and where observing takes a large part of the step, a slowdown has to
    be larger than that part.

    Args:
        comparison: The two runs.
        proven: Whether something other than the clock speaks for it.
    """
    ratio, least = comparison.ratio, proven_floor_ratio(comparison)
    if likeness.differences(comparison) or observed_too_closely(comparison):
        return False
    if proven:
        return ratio.low > 1.0 and ratio.value >= least
    surely = ratio.low > 1.0 if comparison.knows_spread else ratio.low >= least
    return not comparison.arguments and surely and ratio.value >= comparison.effect_floor_ratio


def observer_ratio(comparison: Comparison) -> float | None:
    """What observing takes of a step, the more of agent and stack sampler; None where that is unknown.

    What the sampler surely costs (the lower end of its interval) counts for the turns that it ran in.
    """
    windows = (comparison.before, comparison.after)
    shares = [w.rank.hook_s / w.step_s for w in windows if w.rank.hook_s is not None]
    sampled = comparison.sampler_low_ratio
    if sampled is not None and sampled > 1.0:
        turns = [t for w in windows for t in w.run.turns if t.phase != "alone"]
        shares.append((sampled - 1.0) * sum(t.sampled for t in turns) / max(1, len(turns)))
    return max(shares, default=None)


def observed_too_closely(comparison: Comparison) -> bool:
    """Whether observing takes a large part of a step, and a slowdown is not surely larger than that part."""
    share = observer_ratio(comparison) or 0.0
    return share >= HEAVY_OBSERVER_RATIO and comparison.ratio.low < 1.0 + share


def contended(comparison: Comparison) -> bool:
    """Whether other work on the machine stood in the way of either run."""
    around = comparison.contention
    queue = _most(around.run_queue_ratio_before, around.run_queue_ratio_after)
    others = _most(around.other_cpu_ratio_before, around.other_cpu_ratio_after)
    if (around.steal_ratio or 0.0) >= STEAL_RATIO:
        return True
    if others is None:
        return (queue is not None and queue >= QUEUE_ALONE_RATIO) or stretched(comparison)
    return others >= BUSY_OTHERS_RATIO and (queue is None or queue >= BUSY_QUEUE_RATIO)


def stretched(comparison: Comparison) -> bool:
    """Whether the model's own work takes much longer in most steps than it can; where others are unknown."""
    around = comparison.contention
    return (_most(around.stretch_ratio_before, around.stretch_ratio_after) or 0.0) >= STRETCH_RATIO


def too_few_steps(comparison: Comparison) -> bool:
    """Whether one of the windows is too short for the clock to prove anything."""
    return few_steps(comparison) is not None


def few_steps(comparison: Comparison) -> str | None:
    """How many steps there are, in words, where they are too few; None where they are enough."""
    windows = (comparison.before, comparison.after)
    steps = min(window.training_steps for window in windows)
    if steps < MIN_STEPS:
        return f"only {steps} steps could be compared, and {MIN_STEPS} are needed"
    entries = min(window.steps for window in windows)
    if entries < MIN_ENTRIES:
        return f"only {entries} entries of a log could be compared, and {MIN_ENTRIES} are needed"
    return None


def too_noisy(comparison: Comparison) -> bool:
    """Whether even a large slowdown could hide in these steps, and the interval does not rule it out."""
    return comparison.detectable_ratio > MAX_DETECTABLE_RATIO and comparison.ratio.high > MAX_HIDDEN_RATIO


def would_count_in_turns(comparison: Comparison) -> bool:
    """Whether runs that took no turns read as runs have to that took turns, to be called slower."""
    ratio = comparison.ratio
    return not comparison.paired and ratio.low > 1.0 and ratio.value >= floors.PAIRED_RATIO


def data_parts(comparison: Comparison) -> tuple[str, ...]:
    """The parts in which data time lies: scripts without a loader read in the rest of the step."""
    return ("data_wait",) if has_loader(comparison) else ("data_wait", "forward", "rest")


def model_parts(comparison: Comparison) -> tuple[str, ...]:
    """The parts in which the model computes: without a loader, forward reads in the rest of the step."""
    return ("forward", "backward") if has_loader(comparison) else ("forward", "backward", "rest")


def has_loader(comparison: Comparison) -> bool:
    """Whether a loader fed the steps of either run: it was seen, or was waited for."""
    batches = comparison.counter("batches")
    waits = (part for part in comparison.budget if part.part == "data_wait")
    seen = batches is not None and bool((batches.before or 0) + (batches.after or 0))
    return seen or any(part.before_s > 0 or part.after_s > 0 for part in waits)


def growth_s(comparison: Comparison, parts: Iterable[str] = PARTS) -> float:
    """Seconds per step by which some parts grew together."""
    wanted = set(parts)
    return sum(part.delta.value for part in comparison.budget if part.part in wanted)


def before_s(comparison: Comparison, parts: Iterable[str]) -> float:
    """Seconds per step of some parts of the control."""
    wanted = set(parts)
    return sum(part.before_s for part in comparison.budget if part.part in wanted)


def grew(comparison: Comparison, parts: Sequence[str]) -> bool:
    """Whether some parts grew, beyond noise and by enough to matter for the whole."""
    total_s = growth_s(comparison, parts)
    known = [part for part in comparison.budget if part.part in parts]
    return (
        total_s > 0
        and total_s >= MIN_SHARE * comparison.delta_s
        and any(part.delta.low > 0 for part in known)
    )


def claim_s(comparison: Comparison, findings: Iterable[Finding], parts: Sequence[str]) -> float | None:
    """Seconds per step for a cause that only its parts measure: their growth, as far as it is unexplained.

    Of several such causes the first one asked gets all of it: nothing tells them apart but taking one away.

    Args:
        comparison: The two runs.
        findings: What the rules asked before have found.
        parts: The parts that the cause makes longer.

    Returns:
        None where the runs are not slower, these parts did not grow, or nothing worth telling is left.
    """
    if not is_slower(comparison, proven=True) or not grew(comparison, parts):
        return None
    left_s = min(growth_s(comparison, parts), comparison.delta_s - explained_s(comparison, findings))
    return left_s if left_s >= MIN_SHARE * comparison.delta_s else None


def share_ratio(comparison: Comparison, seconds: float) -> float:
    """Part of the slowdown that some seconds per step explain, 0 to 1."""
    if comparison.delta_s <= 0:
        return 0.0
    return max(0.0, min(1.0, seconds / comparison.delta_s))


def moved(counter: CounterDelta | None, *, ratio: float, least: float) -> bool | None:
    """Whether a counter rose by a factor and an amount; None where it is unknown on a side."""
    if counter is None or counter.before is None or counter.after is None:
        return None
    return counter.after >= ratio * counter.before and counter.after - counter.before >= least


def is_known(counter: CounterDelta | None) -> bool:
    """Whether a counter was measured on both sides."""
    return counter is not None and counter.delta is not None


def factor(counter: CounterDelta | None) -> float | None:
    """A counter after over before; None where that is unknown or was 0."""
    if counter is None or not counter.before or counter.after is None:
        return None
    return counter.after / counter.before


def why_unknown(comparison: Comparison, *names: str) -> str:
    """Why some counters are missing, as far as the runs say."""
    for name in names:
        if name in comparison.not_measured:
            return f"{name}: {comparison.not_measured[name]}"
    return f"{' and '.join(names)} not known on both sides"


def changes_of(comparison: Comparison, prefix: str, names: Iterable[str]) -> tuple[FingerprintChange, ...]:
    """Changed settings that begin with a prefix and end with one of some names, known on both sides."""
    wanted = set(names)
    return tuple(
        change
        for change in comparison.changes
        if change.key.startswith(prefix)
        and change.key.rpartition(".")[2] in wanted
        and change.before is not None
        and change.after is not None
    )


def change_of(comparison: Comparison, key: str) -> FingerprintChange | None:
    """The change of one setting or size; None where it is the same, or unknown on a side."""
    found = (c for c in comparison.changes if c.key == key)
    return next((c for c in found if c.before is not None and c.after is not None), None)


def asynchronous(comparison: Comparison) -> bool:
    """Whether the model is on a device that works on its own: then the parts are the host's times only."""
    for window in (comparison.before, comparison.after):
        for fingerprint in window.rank.fingerprints[-1:]:
            placed = str(fingerprint.values.get("model.devices") or "")
            if any(word.partition(":")[0] not in ("cpu", "meta") for word in placed.split(",") if word):
                return True
    return False


def fewer_cpus(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    """CPUs or threads that the resumed run has fewer of."""
    return tuple(c for c in comparison.changes if c.key in CPU_KEYS and _is_fewer(c))


def counter_evidence(counter: CounterDelta | None, source: str) -> tuple[Evidence, ...]:
    """Both sides of a counter, as far as they are known."""
    if counter is None:
        return ()
    name = counter.name.replace("_", " ")
    unit = None if counter.unit == "count/step" else counter.unit
    return (
        Evidence(f"{name} per step, before", counter.before, unit, source),
        Evidence(f"{name} per step, after", counter.after, unit, source),
    )


def part_evidence(comparison: Comparison, parts: Iterable[str]) -> tuple[Evidence, ...]:
    """By how much some parts of the step grew."""
    wanted = set(parts)
    return tuple(
        Evidence(f"{part.part.replace('_', ' ')} grew by", part.delta.value, "s/step", "agent")
        for part in comparison.budget
        if part.part in wanted and part.delta.value > 0
    )


def change_evidence(changes: Iterable[FingerprintChange]) -> tuple[Evidence, ...]:
    """Settings that changed, as ``before -> after``."""
    return tuple(
        Evidence(change.key, f"{_shown(change.before)} -> {_shown(change.after)}", None, "fingerprint")
        for change in changes
    )


def lasting_shape(comparison: Comparison) -> Shape:
    """The shape of the slowdown, which a rule has found to be a lasting one."""
    known = comparison.shape
    return Shape.STEADY if known in (Shape.NONE, Shape.ONE_TIME) else known


def grown_lines(comparison: Comparison, least_s: float) -> tuple[LineDelta, ...]:
    """The user's lines that grew by at least some seconds per step, largest first."""
    return tuple(line for line in comparison.lines if line.delta_s >= least_s)


def line_evidence(lines: Iterable[LineDelta]) -> tuple[Evidence, ...]:
    """Lines with what each of them grew by."""
    return tuple(
        Evidence(f"{d.line.file}:{d.line.line} ({d.line.function}) grew by", d.delta_s, "s/step", "py-spy")
        for d in lines
    )


def location_of(lines: Sequence[LineDelta]) -> Location | None:
    """The place of the first of some lines."""
    return Location(lines[0].line.file, lines[0].line.line) if lines else None


def explained_s(comparison: Comparison, findings: Iterable[Finding]) -> float:
    """Seconds per step that findings about the lasting slowdown explain together."""
    return sum(f.delta_s or 0.0 for f in findings if explains(f)) if comparison.delta_s > 0 else 0.0


def explains(finding: Finding) -> bool:
    """Whether a finding explains a part of the lasting slowdown."""
    return finding.share_ratio is not None and finding.severity is not Severity.INFO


def confidence(*, part_grew: bool, counter_moved: bool) -> Confidence:
    """How well a cause is proved by its part of the budget and its counter."""
    if part_grew and counter_moved:
        return Confidence.CONFIRMED
    return Confidence.SUSPECTED


def steady_heap(comparison: Comparison) -> bool:
    """Whether both runs had fixed malloc thresholds, so that their heaps behave alike."""
    return all(
        bool(w.rank.fingerprints and w.rank.fingerprints[-1].values.get(STEADY_HEAP_KEY))
        for w in (comparison.before, comparison.after)
    )


def cost_grows(comparison: Comparison) -> bool:
    """Whether the resumed run's steps become ever more expensive within its window, by the script's doing.

    What grows within torch's own optimizer step is the optimizer's: no list of the script's is in there.
    """
    if comparison.shape is not Shape.GROWING or growth_within(comparison) < GROWING_RATIO:
        return False
    window = comparison.after
    own = _thirds_s(window.rank.steps.parts.get("optimizer", ())[window.first : window.last])
    whole = _thirds_s(_times_s(window))
    return own[1] - own[0] < OPTIMIZERS_GROWTH_SHARE * (whole[1] - whole[0])


def growth_within(comparison: Comparison) -> float:
    """Mean step of the last third of the resumed run's window over that of the first third."""
    first_s, last_s = _thirds_s(_times_s(comparison.after))
    return last_s / first_s


def _times_s(window: Window) -> list[float]:
    return [window.rank.steps.step_s(i) for i in range(window.first, window.last)]


def _thirds_s(times_s: Sequence[float]) -> tuple[float, float]:
    """Sums over the first and the last third; 0 where there is nothing."""
    third = max(1, len(times_s) // 3)
    return sum(times_s[:third]), sum(times_s[-third:])


def unexplained_s(comparison: Comparison, findings: Sequence[Finding]) -> float:
    """Seconds per step of the slowdown that no finding explains; 0 where the clock alone does not prove them.

    What is left has to be a quarter of the slowdown and above the effect floor by itself. On a machine
    that is busy with other things the process must have spent CPU time on it, on one thread: waiting
    threads spin, and so use CPU time for the neighbour's sake. Where the run has fewer CPUs than before,
    that explains the rest (HST401), and so does another machine (HST404); what processes of an earlier run
    take is HST403's.
    """
    if fewer_cpus(comparison) or hosts.machine_changes(comparison):
        return 0.0
    left_s = comparison.delta_s - explained_s(comparison, findings) - hosts.left_over_s(comparison)
    remaining_ratio = 1.0 + left_s / comparison.before.step_s
    if too_few_steps(comparison) or not is_slower(comparison, proven=False):
        return 0.0
    if left_s < UNEXPLAINED_SHARE * comparison.delta_s or remaining_ratio < comparison.effect_floor_ratio:
        return 0.0
    if contended(comparison) and not _worked_for(comparison, left_s):
        return 0.0
    return left_s


def cpu_growth_s(comparison: Comparison) -> float | None:
    """CPU seconds per step that the training process used more; None where that is unknown."""
    user, system = comparison.counter("user_s"), comparison.counter("system_s")
    if user is None or user.delta is None or system is None or system.delta is None:
        return None
    return user.delta + system.delta


def has_one_thread(comparison: Comparison) -> bool:
    """Whether the resumed run computes on one thread, so that its CPU time is its work: others spin."""
    fingerprints = comparison.after.rank.fingerprints
    return bool(fingerprints) and fingerprints[-1].values.get("threads.intra_op") == 1


def _worked_for(comparison: Comparison, seconds: float) -> bool:
    spent_s = cpu_growth_s(comparison)
    return has_one_thread(comparison) and spent_s is not None and spent_s >= WORK_SHARE * seconds


def _is_fewer(change: FingerprintChange) -> bool:
    try:
        return int(str(change.after)) < int(str(change.before))
    except ValueError:
        return False


def _most(one: float | None, two: float | None) -> float | None:
    known = [value for value in (one, two) if value is not None]
    return max(known, default=None)


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
