"""What the rules about the machine share: what changed about it, and what an earlier run takes from it."""

from __future__ import annotations

from ckpt_doctor.facts.comparison import Comparison, FingerprintChange

MACHINE = ("machine.", "versions.", "cpus.online")
FILESYSTEM = "data.filesystem"
LEFT_OVER_RATIO = 1.5
LEFT_OVER_CPU_RATIO = 0.05
"""Left-over processes that use this much of a core more than beside the control matter."""


def machine_changes(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    """Hardware, software and file systems that differ and are known on both sides."""
    return tuple(
        change
        for change in comparison.changes
        if change.before is not None and change.after is not None and _is_machine(change)
    )


def left_over_s(comparison: Comparison) -> float:
    """CPU seconds per step that left-over processes used more than beside the control; 0 if none to speak of.

    A process of theirs that runs for a second can keep this one from running for a second at most.
    """
    counter = comparison.counter("left_over_cpu_s")
    if counter is None or counter.delta is None or counter.before is None or counter.after is None:
        return 0.0
    risen = counter.after >= LEFT_OVER_RATIO * counter.before
    return counter.delta if risen and counter.delta >= LEFT_OVER_CPU_RATIO * comparison.after.step_s else 0.0


def _is_machine(change: FingerprintChange) -> bool:
    if change.key == FILESYSTEM:
        # A further file that is open for a moment is no move of the data.
        kinds = [set(str(value).split(",")) for value in (change.before, change.after)]
        return not kinds[0] & kinds[1]
    return change.key.startswith(MACHINE)
