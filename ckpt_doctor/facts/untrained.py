"""Batches that were drawn and not trained on: evaluated on, or thrown away."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from ckpt_doctor.facts.run import StepSeries


class Usual(NamedTuple):
    """What most steps of a run do."""

    batches: float
    backwards: float


def usual(steps: StepSeries, indices: Iterable[int]) -> Usual | None:
    """What most of some steps do; None where that is not known of all of them, or there are none."""
    indices = list(indices)
    drawn, passed = _known(steps, "batches", indices), _known(steps, "backwards", indices)
    if not indices or len(drawn) < len(indices) or len(passed) < len(indices):
        return None
    return Usual(median(drawn.values()), median(passed.values()))


def batches(steps: StepSeries, indices: Iterable[int], usual: Usual) -> dict[int, float]:
    """Batches of each step beyond the usual ones, less the backward passes beyond the usual ones.

    Several passes on one batch (closures, several optimizers) change nothing about that. Steps of which it is
    not known are left out.
    """
    indices = list(indices)
    drawn, passed = _known(steps, "batches", indices), _known(steps, "backwards", indices)
    both = [i for i in indices if i in drawn and i in passed]
    return {i: drawn[i] - usual.batches - max(0.0, passed[i] - usual.backwards) for i in both}


def _known(steps: StepSeries, name: str, indices: Iterable[int]) -> dict[int, float]:
    column = steps.counters.get(name) or ()
    return {i: value for i in indices if i < len(column) and (value := column[i]) is not None}
