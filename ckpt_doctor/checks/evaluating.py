"""Batches that the model is run on without training on them: how many more a run has, and what they cost.

A batch that no backward pass follows was evaluated on, or drawn and thrown away. What tells them apart is the
time that goes by outside of the loader: throwing away takes next to none, running the model a good part of a
training step. Steps of one run are compared for that, those with such batches with those without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from ckpt_doctor.facts import untrained
from ckpt_doctor.facts.comparison import Comparison, Window

STEPS = 2
"""So many more steps with an evaluation than in the control's window: where it begins decides about one. So
many on both sides say how many batches an evaluation has."""
GROWTH_RATIO = 1.5
"""Growth of batches evaluated per step that counts."""
MODEL_RATIO = 0.1
"""Part of a training step outside of the loader that a batch takes at least when the model is run on it: a
forward pass takes about a third."""


@dataclass(frozen=True)
class Evaluating:
    """What more evaluation the resumed run has, per step."""

    steps_before: frozenset[int]
    """Steps of the control's window in which batches were evaluated."""
    steps_after: frozenset[int]
    batches_before: float
    """Batches per step that no backward pass followed."""
    batches_after: float
    outside_s: float
    """Seconds per step that they take outside of the loader, more than before."""
    waiting_s: float
    """Seconds per step that they take in the loader, more than before."""


@dataclass(frozen=True)
class _Evaluated:
    steps: frozenset[int]
    batches: float
    outside_s: float
    waiting_s: float


def more(comparison: Comparison) -> Evaluating | None:
    """What more evaluation the resumed run has; None where it has none, or none is known of."""
    windows = comparison.before, comparison.after
    if any("data_wait" not in window.rank.steps.parts for window in windows):
        return None
    usual = untrained.usual(comparison.before.rank.steps, _steps(comparison.before))
    if usual is None or untrained.usual(comparison.after.rank.steps, _steps(comparison.after)) is None:
        return None
    extra = _extra(comparison.before, usual)
    trained = [i for i in _steps(comparison.before) if i not in extra]
    if not trained:
        return None
    outside_s = median(_outside_s(comparison.before, i) for i in trained)
    waiting_s = median(_waiting_s(comparison.before, i) for i in trained)
    before = _evaluated(comparison.before, extra, outside_s, waiting_s)
    after = _evaluated(comparison.after, _extra(comparison.after, usual), outside_s, waiting_s)
    found = Evaluating(
        before.steps,
        after.steps,
        before.batches,
        after.batches,
        after.outside_s - before.outside_s,
        after.waiting_s - before.waiting_s,
    )
    model_s = MODEL_RATIO * outside_s * (after.batches - before.batches)
    return found if _evaluates_more(before, after) and found.outside_s >= model_s else None


def _evaluates_more(before: _Evaluated, after: _Evaluated) -> bool:
    """Whether evaluations come more often, or each has more batches."""
    often = len(after.steps) >= len(before.steps) + STEPS
    each = [run.batches / len(run.steps) if len(run.steps) >= STEPS else None for run in (before, after)]
    longer = each[0] is not None and each[1] is not None and each[1] >= GROWTH_RATIO * each[0]
    return (often or longer) and after.batches >= GROWTH_RATIO * before.batches


def _steps(window: Window) -> range:
    return range(window.first, window.last)


def _extra(window: Window, usual: untrained.Usual) -> dict[int, float]:
    """The batches that each step did not train on, where there are some."""
    found = untrained.batches(window.rank.steps, _steps(window), usual)
    return {i: batches for i, batches in found.items() if batches >= 1}


def _evaluated(window: Window, extra: dict[int, float], outside_s: float, waiting_s: float) -> _Evaluated:
    """What a run evaluates in its window.

    Args:
        window: Its steps.
        extra: Batches that it did not train on, by step.
        outside_s: What a step that only trains takes outside of the loader, where the run itself has none.
        waiting_s: What it takes in the loader, likewise.
    """
    trained = [i for i in _steps(window) if i not in extra]
    if trained:
        outside_s = median(_outside_s(window, i) for i in trained)
        waiting_s = median(_waiting_s(window, i) for i in trained)
    return _Evaluated(
        frozenset(extra),
        math.fsum(extra.values()) / window.steps,
        math.fsum(_outside_s(window, i) - outside_s for i in extra) / window.steps,
        math.fsum(_waiting_s(window, i) - waiting_s for i in extra) / window.steps,
    )


def _outside_s(window: Window, step: int) -> float:
    steps = window.rank.steps
    return steps.step_s(step) - steps.parts["data_wait"][step]


def _waiting_s(window: Window, step: int) -> float:
    return window.rank.steps.parts["data_wait"][step]
