"""Whether the resumed run was fed what the uninterrupted run was fed.

The batches of both runs are laid side by side in the order in which they were drawn, whatever steps
they belong to: loaders that fetch a batch ahead draw two in their first step, and skipping by replay
draws hundreds there. So the first step since the resume is left out. What either run drew in steps that
had more batches than they trained on (an evaluation, a replay) is left out of both: it may come more often
in one of them, and says nothing about the order of the training data.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.facts import untrained
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
    beside = _beside_training(one, origin) | _beside_training(two, after_origin)
    control, resumed = (
        [batch for batch in _batches(steps, first) if batch[1] not in beside]
        for steps, first in ((one, origin), (two, after_origin))
    )
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


def _beside_training(steps: StepSeries, origin: int) -> set[str]:
    """What was drawn, since the step after relative step 0, in steps that did not train on all of it."""
    later = range(origin + 1, len(steps))
    usual = untrained.usual(steps, later)
    if usual is None:
        return set()
    rich = [i for i, batches in untrained.batches(steps, later, usual).items() if batches >= 1]
    return {digest for i in rich for digest in (steps.digests[i] or "").split()}


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
