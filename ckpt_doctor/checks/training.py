"""What the rules about parameters and optimizers share: whether the resumed run trains more of the model."""

from __future__ import annotations

from collections.abc import Iterable

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, FingerprintChange, Window

GROWTH_RATIO = 1.05
"""Sizes are counted, not measured: the margin is for counters that a step adds to the state."""
MODEL = "modules.elements"
GRADIENTS = "modules.gradient_elements"
TRAINABLE = "modules.trainable_elements"
LISTED = "model.trainable_elements"
"""What the optimizers hold, each parameter once, whether it belongs to the model or not."""
OPTIMIZED = ("modules.optimized_parameters", "modules.optimized_elements", "modules.optimized_bytes")


def same_modules(comparison: Comparison) -> bool:
    """Whether both runs were seen to call a model of the same size."""
    known = [_value(window, MODEL) for window in (comparison.before, comparison.after)]
    return None not in known and known[0] == known[1]


def more_gradients(comparison: Comparison) -> FingerprintChange | None:
    """More elements of the model's parameters that receive gradients; None where there are not more.

    Where no gradient is left at the end of a step, those that ask for one stand for them; where the
    modules are not known on both sides, those that the optimizers hold.
    """
    if not same_modules(comparison):
        return _grown(comparison, (LISTED,))
    left = [_value(window, GRADIENTS) for window in (comparison.before, comparison.after)]
    return _grown(comparison, (GRADIENTS,) if all(left) else (TRAINABLE,))


def more_optimized(comparison: Comparison) -> FingerprintChange | None:
    """More elements of the model's parameters that an optimizer updates; None where there are not more."""
    return _grown(comparison, ("modules.optimized_elements",)) if same_modules(comparison) else None


def growth_ratio(comparison: Comparison) -> float:
    """The factor by which the trained part of the model grew, in number or in bytes; 1 where it did not.

    An optimizer's state that grew by as much only follows its parameters.
    """
    known = [_value(window, MODEL) for window in (comparison.before, comparison.after)]
    if None in known:
        return 1.0
    keys = OPTIMIZED if known[0] == known[1] else (LISTED,)
    grown = (_grown(comparison, (key,)) for key in keys)
    return max((_ratio(change) for change in grown if change is not None), default=1.0)


def is_larger(change: FingerprintChange, least_ratio: float = GROWTH_RATIO) -> bool:
    """Whether a size that is known on both sides, and was not zero, rose by a factor."""
    before, after = change.before, change.after
    if not isinstance(before, (int, float)) or not isinstance(after, (int, float)):
        return False
    return before > 0 and after >= least_ratio * before


def _grown(comparison: Comparison, keys: Iterable[str]) -> FingerprintChange | None:
    changes = (blame.change_of(comparison, key) for key in keys)
    return next((c for c in changes if c is not None and is_larger(c)), None)


def _ratio(change: FingerprintChange) -> float:
    return float(str(change.after)) / float(str(change.before))


def _value(window: Window, key: str) -> object:
    prints = window.rank.fingerprints
    return prints[-1].values.get(key) if prints else None
