"""When further turns would not change the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from ckpt_doctor.stats.intervals import student_quantile

MIN_PAIRS = 6
"""Looking again and again at growing data finds something by chance: not before so many pairs of turns,"""
CONFIDENCE = 0.999
"""and only with an interval far stricter than the one that is reported in the end."""
SLOWER_RATIO = 1.25
"""A slowdown that is surely above this needs no more turns,"""
SAME_RATIO = 1.05
"""and neither does one that is surely below this, on either side of 1."""


def is_clear(before_s: Sequence[float], after_s: Sequence[float]) -> bool:
    """Whether the ratio of two arms that take turns is known well enough to stop.

    Args:
        before_s: Mean step time of each of the control's turns, in seconds.
        after_s: Those of the resumed run's turns, each beside the control's of the same place.
    """
    logs = [math.log(after / before) for before, after in zip(before_s, after_s, strict=True)]
    if len(logs) < MIN_PAIRS:
        return False
    mean = fmean(logs)
    reach = student_quantile((1.0 + CONFIDENCE) / 2.0, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    slower = mean - reach > math.log(SLOWER_RATIO)
    same = -math.log(SAME_RATIO) < mean - reach and mean + reach < math.log(SAME_RATIO)
    return slower or same
