"""What a report has that an earlier one has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ckpt_doctor.facts.baseline import BaselineDelta, SavedReport
from ckpt_doctor.facts.comparison import Interval
from ckpt_doctor.facts.report import Finding

COSTLIER_RATIO = 1.05
"""A resume that costs this much more than before is costlier, if the intervals agree: the same floor below
which no slowdown is called one."""


def against_baseline(
    before: SavedReport, findings: Sequence[Finding], ratio: Interval | None
) -> BaselineDelta:
    """Hold a report's findings against an earlier report.

    A finding is excused by the earlier one of the same rule, unless it is more severe now, there are more
    of that rule, or it costs time and the resume has become costlier. Paths decide nothing: a checkpoint
    and a line move from one commit to the next.

    Args:
        before: The earlier report.
        findings: What the later one found.
        ratio: The later one's step time after the resume over before; None where no runs were compared.
    """
    costlier = _is_costlier(before.ratio, ratio)
    counts = Counter(finding.code for finding in findings)
    known = tuple(f for f in findings if _is_excused(f, before, counts, costlier))
    codes = {finding.code for finding in findings}
    return BaselineDelta(
        new=tuple(finding for finding in findings if finding not in known),
        known=known,
        gone=tuple(sorted({finding.code for finding in before.findings} - codes)),
        costlier=costlier,
    )


def _is_excused(finding: Finding, before: SavedReport, counts: Counter[str], costlier: bool) -> bool:
    earlier = [each for each in before.findings if each.code == finding.code]
    if not earlier or counts[finding.code] > len(earlier) or (costlier and finding.share_ratio is not None):
        return False
    return finding.severity.rank <= max(each.severity.rank for each in earlier)


def _is_costlier(before: Interval | None, after: Interval | None) -> bool:
    if before is None or after is None:
        return False
    return after.low > before.high and after.value > COSTLIER_RATIO * before.value
