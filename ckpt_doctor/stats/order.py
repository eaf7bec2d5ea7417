"""Whether the resumed run was fed what the uninterrupted run was fed.

The batches of both runs are laid side by side in the order in which they were drawn, whatever steps
they belong to: loaders that fetch a batch ahead draw two in their first step, and skipping by replay
draws hundreds there. So the first step since the resume is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.facts.comparison import OrderCheck
from ckpt_doctor.facts.run import RankRecord, StepSeries

MIN_BATCHES = 3
"""Fewer batches that are known on both sides prove nothing."""
SEARCHED_BATCHES = 8
"""So many of the resumed run's first batches are looked for in the control."""

Batch = tuple[int, str]
"""Relative step and digest of one batch."""


def check_order(
    before: RankRecord, origin: int, after: RankRecord, after_origin: int, *, replaced: bool
) -> OrderCheck:
    """Compare the digests of what fed the runs, batch by batch.

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
    control, resumed = _batches(one, origin), _batches(two, after_origin)
    start = next((i for i, (step, _) in enumerate(control) if step >= 1), len(control))
    seen = [batch for batch in resumed if batch[0] >= 1]
    pairs = list(zip(control[start:], seen, strict=False))
    compared = len(pairs)
    same = next((i for i, (a, b) in enumerate(pairs) if a[1] != b[1]), compared)
    steps = len({step for step, _ in seen[:compared]})
    if compared < MIN_BATCHES:
        return OrderCheck(None, steps, None, None, source)
    if same == compared:
        return OrderCheck(True, steps, None, origin, source)
    return OrderCheck(False, steps, seen[same][0], _find(control, resumed, origin), source)


def _batches(steps: StepSeries, origin: int) -> list[Batch]:
    """All batches of a run with a digest, in order."""
    return [(i - origin, digest) for i, text in enumerate(steps.digests) for digest in (text or "").split()]


def _find(control: Sequence[Batch], resumed: Sequence[Batch], origin: int) -> int | None:
    """The control's step, since its start, that drew what the resumed run drew first; None if none did."""
    wanted = [digest for _, digest in resumed[:SEARCHED_BATCHES]]
    digests = [digest for _, digest in control]
    size = len(wanted)
    if size < MIN_BATCHES:
        return None
    for i in range(len(digests) - size + 1):
        if digests[i : i + size] == wanted:
            return control[i][0] + origin
    return None
