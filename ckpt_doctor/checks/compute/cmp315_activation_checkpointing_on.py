"""The resumed run computes activations again in backward, and the first one kept them.

What it means
-------------
A configuration for a smaller machine, or a default that a loaded configuration brought along, switched
activation checkpointing on. It saves memory, and each step pays for a second forward in its backward.

How it is measured
------------------
Calls of ``torch.utils.checkpoint`` per backward pass, reentrant or not, ``CALLS_RATIO`` times those of the
control; an error where backward grew. The cost is the time in which backward was seen to compute
activations again, at most what backward grew by. Without a slowdown it is only mentioned.

How to fix it
-------------
Switch it off where the memory suffices (``model.gradient_checkpointing_disable()`` or the option that set
it), or checkpoint fewer, larger blocks.

When it is wrong
----------------
On purpose, for more memory, it is the price that was agreed to. Libraries with checkpoints of their own
(DeepSpeed) and compiled code, which decides by itself what to compute again, make no such calls. On a device
that works on its own the time is the host's, and says how long it took to launch.
"""

from __future__ import annotations

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Found, Severity, Side

HOOK = "activation_checkpoint"
CALLS = "activation_checkpoints"
RECOMPUTED = "recompute_s"
CALLS_RATIO = 1.2
"""Growth of checkpoints per pass that counts: they are counted, not measured, but passes may differ."""
LEAST_CALLS = 0.25
"""Least growth per pass: fewer are not a matter of every step."""
PART = ("backward",)


def find(case: Case) -> Found | CannotTell | None:
    """Judge activation checkpoints against the time of backward."""
    comparison = case.comparison
    if comparison is None:
        return None
    more = None if HOOK in comparison.not_measured else _more_calls(comparison)
    if more is None:
        return CannotTell(blame.why_unknown(comparison, HOOK, "backward"))
    if not more:
        return None
    slower = blame.is_slower(comparison, proven=True) and blame.grew(comparison, PART)
    cost_s = _cost_s(comparison) if slower else None
    calls, seconds = comparison.counter(CALLS), comparison.counter(RECOMPUTED)
    told = f"{units.number(calls.before or 0.0)} -> {units.number(calls.after or 0.0)}" if calls else ""
    effect = "no step is slower for it" if cost_s is None else f"that costs {units.per_step(cost_s)}"
    return Found(
        severity=Severity.INFO if cost_s is None else Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"Backward computes activations again after the resume (checkpoints per step {told}): "
        f"{effect}.",
        remedy="Switch activation checkpointing off, or on for both runs: it buys memory with time.",
        evidence=blame.counter_evidence(calls, "agent")
        + blame.counter_evidence(seconds, "agent")
        + blame.part_evidence(comparison, PART),
        confidence=Confidence.SUSPECTED if cost_s is None else Confidence.CONFIRMED,
        share_ratio=None if cost_s is None else blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=None if cost_s is None else blame.lasting_shape(comparison),
    )


def _more_calls(comparison: Comparison) -> bool | None:
    """Whether there are more checkpoints in each pass; None where that is unknown on a side."""
    calls, passes = comparison.counter(CALLS), comparison.counter("backwards")
    if calls is None or calls.before is None or calls.after is None:
        return None
    if passes is None or not passes.before or not passes.after:
        return None
    before, after = calls.before / passes.before, calls.after / passes.after
    return after >= CALLS_RATIO * before and after - before >= LEAST_CALLS


def _cost_s(comparison: Comparison) -> float:
    """What backward grew by, as far as it was spent on computing again."""
    grown_s = blame.growth_s(comparison, PART)
    seconds = comparison.counter(RECOMPUTED)
    return grown_s if seconds is None or not seconds.delta else max(0.0, min(grown_s, seconds.delta))
