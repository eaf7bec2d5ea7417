"""Other work on the machine stood in the way of the runs.

What it means
-------------
The clock measures the machine as much as the resume. A barrier between threads waits for the one that
has no core, so a step can take many times as long as its work. What bytes, counts and settings prove
still holds; what only the clock shows does not.

How it is measured
------------------
While each run had its turn: CPU that other processes used of all cores (``blame.BUSY_OTHERS_RATIO``)
together with the time that the run waited for a CPU (``blame.BUSY_QUEUE_RATIO`` per second), or the part
that the machine's own host gave to others (``blame.STEAL_RATIO``). The effect floor rises with it. A trace
tells none of this: there the model's own work (forward, backward and optimizer; the device's time, where
there is one), which takes ``blame.STRETCH_RATIO`` times as long in the usual step as in the quickest ones, is
the sign that something else had the machine.

How to fix it
-------------
Measure when the machine is quiet, or elsewhere; ``--threads 1`` for both arms takes away the barriers.

When it is wrong
----------------
Processes that the script starts outside its own process tree count as others. So does the doctor itself: by
recordings on two cores it takes 2 to 5 % of them, and 5 to 13 % while stacks are sampled, which alone is
never called contention there. Waiting for a CPU among the run's own threads and workers is no contention by
others, and is not reported here; a trace cannot tell the two apart. Samples of varying size make the work of
steps vary, too; a trace with shapes allows for it.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

RATIO_UNIT = "s per s"
NEEDS = ()
"""Traces tell by the steps themselves."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge what the machine did beside the runs."""
    comparison = case.comparison
    if comparison is None:
        return None
    around = comparison.contention
    known = (around.run_queue_ratio_after, around.other_cpu_ratio_after, around.steal_ratio)
    if all(value is None for value in known):
        return _from_the_steps(comparison)
    if not blame.contended(comparison):
        return None
    others = max(around.other_cpu_ratio_before or 0.0, around.other_cpu_ratio_after or 0.0)
    return Found(
        severity=Severity.WARNING,
        side=Side.HOST,
        summary=f"Processes outside the runs, the doctor among them, used up to {units.percent(others)} of "
        f"the machine while these had their turns{_limit(comparison)}.",
        remedy="Repeat on a quiet machine, with more steps, or with --threads 1 for both arms.",
        evidence=_evidence(comparison),
        confidence=Confidence.CONFIRMED,
    )


def _limit(comparison: Comparison) -> str:
    """What cannot be told for it: nothing to speak of where the runs differ by more than that."""
    if blame.is_slower(comparison, proven=False):
        return ""
    return f": below {units.ratio(comparison.effect_floor_ratio)} a slowdown cannot be told from it"


def _from_the_steps(comparison: Comparison) -> Found | CannotTell:
    """Judge by the model's own work, where nothing is known of the machine."""
    around = comparison.contention
    sides = (("before", around.stretch_ratio_before), ("after", around.stretch_ratio_after))
    known = [(side, ratio) for side, ratio in sides if ratio is not None]
    if not blame.stretched(comparison):
        return CannotTell(blame.why_unknown(comparison, "host", "run_queue_s"))
    side, ratio = max(known, key=lambda each: each[1])
    return Found(
        severity=Severity.WARNING,
        side=Side.HOST,
        summary=f"The model's own work took {units.ratio(ratio)} as long in the usual step as in the "
        f"quickest ones of the run {side} the resume: something else had the machine, and a slowdown cannot "
        "be told from it.",
        remedy="Take the traces on a quiet machine, with OMP_NUM_THREADS=1 for both, or probe the script.",
        evidence=tuple(
            Evidence(f"work of the usual step over the quickest, {each}", value, "ratio", "agent")
            for each, value in known
        ),
        confidence=Confidence.SUSPECTED,
    )


def _evidence(comparison: Comparison) -> tuple[Evidence, ...]:
    around = comparison.contention
    rows = (
        ("other processes' share of all CPUs, before", around.other_cpu_ratio_before, None, "/proc"),
        ("other processes' share of all CPUs, after", around.other_cpu_ratio_after, None, "/proc"),
        ("waiting for a CPU, before", around.run_queue_ratio_before, RATIO_UNIT, "/proc"),
        ("waiting for a CPU, after", around.run_queue_ratio_after, RATIO_UNIT, "/proc"),
        ("time stolen by the machine's host", around.steal_ratio, None, "/proc"),
    )
    found = [Evidence(*row) for row in rows if row[1] is not None]
    spent_s = blame.cpu_growth_s(comparison)
    if spent_s is not None:
        found.append(Evidence("step time grew by", comparison.delta_s, "s/step", "agent"))
        found.append(Evidence("CPU time of the process grew by", spent_s, "s/step", "getrusage"))
    return tuple(found)
