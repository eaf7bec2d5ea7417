"""When further turns would not change the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from ckpt_doctor.facts import floors
from ckpt_doctor.stats.intervals import student_quantile

MIN_PAIRS = 6
"""Looking again and again at growing data finds something by chance: not before so many pairs of turns,"""
CONFIDENCE = 0.999
"""and only with an interval far stricter than the one that is reported in the end."""


UNDECIDED_CONFIDENCE = 0.95
UNDECIDED_RATIOS = (1.05, 1.15)
"""An interval that reaches from below the first to above the second says neither the same nor slower."""


def is_clear(before_s: Sequence[float], after_s: Sequence[float]) -> bool:
    """Whether the ratio of two arms that take turns is known well enough to stop early.

    Args:
        before_s: Mean step time of each of the control's turns, in seconds.
        after_s: Those of the resumed run's turns, each beside the control's of the same place.
    """
    if len(before_s) < MIN_PAIRS:
        return False
    low, high = _interval(before_s, after_s, CONFIDENCE)
    same = low > 1.0 / floors.SAME_RATIO and high < floors.SAME_RATIO
    return low > floors.SURE_RATIO or same


def is_undecided(before_s: Sequence[float], after_s: Sequence[float]) -> bool:
    """Whether more turns are worth their time: the ratio may be the same, and may be slower.

    Args:
        before_s: As in ``is_clear``.
        after_s: As in ``is_clear``.
    """
    if len(before_s) < 2:
        return True
    low, high = _interval(before_s, after_s, UNDECIDED_CONFIDENCE)
    return low < UNDECIDED_RATIOS[0] and high > UNDECIDED_RATIOS[1]


def _interval(before_s: Sequence[float], after_s: Sequence[float], confidence: float) -> tuple[float, float]:
    """Student's interval for the mean of the logarithms of the ratios, as ratios."""
    logs = [math.log(after / before) for before, after in zip(before_s, after_s, strict=True)]
    reach = student_quantile((1.0 + confidence) / 2.0, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - reach), math.exp(fmean(logs) + reach)
