"""The answer to what is new against an earlier report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.facts.report import Confidence, Finding, Side, Status, Verdict

if TYPE_CHECKING:
    from ckpt_doctor.facts.baseline import BaselineDelta
    from ckpt_doctor.facts.comparison import Interval


def decide(
    delta: BaselineDelta, now: Verdict, before_ratio: Interval | None, after_ratio: Interval | None
) -> Verdict:
    """Give the answer.

    Args:
        delta: What is new, known and gone.
        now: The later report's own verdict.
        before_ratio: What the resume cost in the earlier report, where runs were compared.
        after_ratio: What it costs now.
    """
    cost = _cost(before_ratio, after_ratio, costlier=delta.costlier)
    if delta.new:
        first = next((f for f in delta.new if f.code == now.cause), None)
        return Verdict(
            status=Status.FINDINGS,
            side=first.side if first is not None else Side.NONE,
            cause=first.code if first is not None else None,
            confidence=_confidence(first),
            sentence=f"{_count(len(delta.new))} that the baseline does not excuse{cost}.",
        )
    if now.status is Status.INCONCLUSIVE:
        sentence = f"Nothing can be said against the baseline: {now.sentence}"
        return Verdict(now.status, now.side, None, now.confidence, sentence, now.next_step)
    known = f" ({_count(len(delta.known))} known)" if delta.known else ""
    return Verdict(
        Status.HEALTHY, Side.NONE, None, None, f"Nothing that the baseline does not have{known}{cost}."
    )


def _cost(before: Interval | None, after: Interval | None, *, costlier: bool) -> str:
    if before is None or after is None:
        return ""
    word = "costs more than it did" if costlier else "costs no more than it did"
    return f"; the resume {word}: {units.ratio(after.value)}, in the baseline {units.ratio(before.value)}"


def _confidence(finding: Finding | None) -> Confidence | None:
    return finding.confidence if finding is not None else None


def _count(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}"
