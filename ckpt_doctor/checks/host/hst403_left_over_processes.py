"""Processes of an earlier run are still alive beside the resumed one.

What it means
-------------
A run was killed, or failed as it began, and its loader workers or helpers were not: their parent has died,
nobody waits for them, and they hold a GPU or use CPUs that the resumed run counts on. They are gone after a
restart of the machine, and come back with the next crash.

How it is measured
------------------
Processes whose parent has died (they belong to the machine's first process, or to what was started in the
place of it) and that run the same script, were spawned by Python in the same folder, or are Python
processes that hold a GPU. Their CPU time while the resumed run had its turn: an error where it rose by
``hosts.LEFT_OVER_RATIO`` and ``hosts.LEFT_OVER_CPU_RATIO`` of a core beyond that beside the control, and the
step grew. It gets what no other rule explains, at most their CPU time. Beside both runs alike they are a
warning from ``BUSY_RATIO`` of a core on, or where they hold a GPU; a mention otherwise.

How to fix it
-------------
End them before the resume; start workers so that they end with
their parent (``daemon=True``, PR_SET_PDEATHSIG), and a job in a group that is ended as a whole.

When it is wrong
----------------
Another job of the same script that was started with nohup, or a helper that is detached on purpose, has no
living parent either. Processes of other users, or in other containers, cannot be told apart from the rest
of the machine: HST402 sees their CPU time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, hosts
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Finding, Found, Severity, Side
from ckpt_doctor.facts.run import LeftOver

BUSY_RATIO = 0.05
"""Part of a core that left-over processes use, from which on they are worth a warning."""
PROCESSES_SHOWN = 4
"""So many processes are named."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge the processes that nobody waits for."""
    comparison = case.comparison
    if comparison is None:
        return None
    seen = {left.pid: left for w in (comparison.before, comparison.after) for left in w.run.left_overs}
    if not seen:
        return None
    left_s = comparison.delta_s - blame.explained_s(comparison, findings)
    cost_s = min(left_s, hosts.left_over_s(comparison))
    costs = (
        blame.is_slower(comparison, proven=True) and blame.share_ratio(comparison, cost_s) >= blame.MIN_SHARE
    )
    used = _cores(comparison)
    return Found(
        severity=Severity.ERROR if costs else _severity(list(seen.values()), used),
        side=Side.HOST,
        summary=f"{len(seen)} processes of an earlier run are alive and use {units.number(used)} of a core "
        f"while the resumed run works: {_effect(cost_s if costs else None)}.",
        remedy="End such processes before a resume, unless they are another job of yours; start workers so "
        "that they end with their parent (daemon=True).",
        evidence=(
            *(_process_evidence(left) for left in list(seen.values())[:PROCESSES_SHOWN]),
            *blame.counter_evidence(comparison.counter("left_over_cpu_s"), "/proc"),
            *blame.counter_evidence(comparison.counter("run_queue_s"), "/proc"),
        ),
        confidence=Confidence.CONFIRMED if costs and _waits_more(comparison) else Confidence.SUPPORTED,
        share_ratio=blame.share_ratio(comparison, cost_s) if costs else None,
        delta_s=cost_s if costs else None,
        shape=blame.lasting_shape(comparison) if costs else None,
    )


def _cores(comparison: Comparison) -> float:
    """CPU seconds that they use per second of the resumed run."""
    counter = comparison.counter("left_over_cpu_s")
    return (counter.after or 0.0) / comparison.after.step_s if counter is not None else 0.0


def _severity(left_overs: Sequence[LeftOver], cores: float) -> Severity:
    serious = cores >= BUSY_RATIO or any(left.holds_gpu for left in left_overs)
    return Severity.WARNING if serious else Severity.INFO


def _waits_more(comparison: Comparison) -> bool:
    waited = comparison.counter("run_queue_s")
    return waited is not None and (waited.delta or 0.0) > 0


def _effect(cost_s: float | None) -> str:
    return "no step is slower for it" if cost_s is None else f"each step takes {units.seconds(cost_s)} longer"


def _process_evidence(left: LeftOver) -> Evidence:
    gpu = ", holds a GPU" if left.holds_gpu else ""
    return Evidence(
        f"process {left.pid}", f"{left.command} ({units.size(left.rss_bytes)}{gpu})", None, "/proc"
    )
