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
class Evaluated:
    """What one run evaluates in its window."""

    steps: frozenset[int]
    """Steps in which batches were evaluated."""
    batches: float
    """Batches per step that no backward pass followed."""
    outside_s: float
    """Seconds per step that they take outside of the loader."""
    waiting_s: float
    """Seconds per step that they take in the loader."""


@dataclass(frozen=True)
class Evaluating:
    """More evaluation in the resumed run than in the control."""

    before: Evaluated
    after: Evaluated

    @property
    def outside_s(self) -> float:
        """Seconds per step outside of the loader, more than before."""
        return self.after.outside_s - self.before.outside_s

    @property
    def waiting_s(self) -> float:
        """Seconds per step in the loader, more than before."""
        return self.after.waiting_s - self.before.waiting_s


def more(comparison: Comparison) -> Evaluating | None:
    """What more evaluation the resumed run has; None where it has none, or none is known of."""
    windows = comparison.before, comparison.after
    if any("data_wait" not in window.rank.steps.parts for window in windows):
        return None
    usual = untrained.usual(comparison.before.rank.steps, _steps(comparison.before))
    if usual is None or untrained.usual(comparison.after.rank.steps, _steps(comparison.after)) is None:
        return None
    extra = [_extra(window, usual) for window in windows]
    training = _training_s(comparison.before, extra[0])
    if training is None:
        return None
    # A run that evaluates in every step has none that only trains: the control's say what that takes.
    found = Evaluating(
        _evaluated(comparison.before, extra[0], training),
        _evaluated(comparison.after, extra[1], _training_s(comparison.after, extra[1]) or training),
    )
    model_s = MODEL_RATIO * training[0] * (found.after.batches - found.before.batches)
    return found if _evaluates_more(found.before, found.after) and found.outside_s >= model_s else None


def outside_s(window: Window, step: int) -> float:
    """Time of a step outside of the loader."""
    return window.rank.steps.step_s(step) - _waiting_s(window, step)


def _evaluates_more(before: Evaluated, after: Evaluated) -> bool:
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


def _training_s(window: Window, extra: dict[int, float]) -> tuple[float, float] | None:
    """What a step that only trains takes outside of the loader and in it; None where there is none."""
    trained = [i for i in _steps(window) if i not in extra]
    if not trained:
        return None
    return median(outside_s(window, i) for i in trained), median(_waiting_s(window, i) for i in trained)


def _evaluated(window: Window, extra: dict[int, float], training_s: tuple[float, float]) -> Evaluated:
    return Evaluated(
        frozenset(extra),
        math.fsum(extra.values()) / window.steps,
        math.fsum(outside_s(window, i) - training_s[0] for i in extra) / window.steps,
        math.fsum(_waiting_s(window, i) - training_s[1] for i in extra) / window.steps,
    )


def _waiting_s(window: Window, step: int) -> float:
    return window.rank.steps.parts["data_wait"][step]
