"""Whether the resumed run was fed what the uninterrupted run was fed."""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.facts.comparison import OrderCheck
from ckpt_doctor.facts.run import RankRecord

MIN_STEPS = 3
"""Fewer steps with a digest on both sides prove nothing."""
SEARCH_STEPS = 8
"""So many of the resumed run's first steps are looked for in the control."""


def check_order(
    before: RankRecord, origin: int, after: RankRecord, after_origin: int, *, replaced: bool
) -> OrderCheck:
    """Compare the digests of what fed each step, by relative step.

    Args:
        before: The control's process.
        origin: Its first step since the save.
        after: The resumed process.
        after_origin: Its first step since the resume.
        replaced: Whether steps before the save stand in for the control: then the same relative steps
            hold other data by nature, and the order cannot be judged.
    """
    one, two = before.steps, after.steps
    source = one.digest_source if one.digest_source == two.digest_source else None
    if source is None or replaced:
        return OrderCheck(None, 0, None, None, source)
    wanted = one.digests[origin:]
    seen = two.digests[after_origin:]
    compared = [
        i for i, (a, b) in enumerate(zip(wanted, seen, strict=False)) if a is not None and b is not None
    ]
    if len(compared) < MIN_STEPS:
        return OrderCheck(None, len(compared), None, None, source)
    first = next((i for i in compared if wanted[i] != seen[i]), None)
    if first is None:
        return OrderCheck(True, len(compared), None, origin, source)
    return OrderCheck(False, len(compared), first, _find(one.digests, seen[:SEARCH_STEPS]), source)


def _find(digests: Sequence[str | None], wanted: Sequence[str | None]) -> int | None:
    """Where a sequence of digests first stands in a longer one; None where it does not."""
    if len(wanted) < MIN_STEPS or None in wanted:
        return None
    size = len(wanted)
    return next(
        (i for i in range(len(digests) - size + 1) if list(digests[i : i + size]) == list(wanted)), None
    )
