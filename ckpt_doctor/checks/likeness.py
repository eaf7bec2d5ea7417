"""Whether two runs do the same work, so that the times of their steps can be set side by side."""

from __future__ import annotations

from collections.abc import Iterable

from ckpt_doctor.facts.comparison import Comparison, FingerprintChange, Window

SIZE_RATIO = 1.05
"""Trained elements are counted, not measured; another number of classes is no other model yet."""
WORK_RATIO = 1.1
"""Last batches of an epoch may be smaller, and a window holds one more or less of them."""
SCRIPT = "script"
WORLD_SIZE = "env.WORLD_SIZE"
ELEMENTS = "model.trainable_elements"


def differences(comparison: Comparison) -> tuple[FingerprintChange, ...]:
    """What makes two runs two experiments; empty where their steps can be compared.

    Another script or another number of ranks always does. Other work in a step does where the resumed
    run is not slower: it may hide a slowdown, and no slower step is then no news. A run that is slower
    with more work to do is judged by the rules about that, and one with less work is slower all the more.
    A model of another size is another experiment as soon as the commands differ as well.
    """
    found = [c for c in comparison.arguments if c.key == SCRIPT]
    found += [c for c in comparison.changes if c.key == WORLD_SIZE and (c.before or "1") != (c.after or "1")]
    not_slower = comparison.ratio.low <= 1.0
    if not_slower or comparison.arguments:
        found += [c for c in comparison.changes if c.key == ELEMENTS and _differ(c, SIZE_RATIO)]
    if not_slower:
        found += [c for c in _work(comparison) if _differ(c, WORK_RATIO)]
    return tuple(found)


def told(changes: Iterable[FingerprintChange]) -> str:
    """Changes as words, as ``batch size 32 -> 16``."""
    return ", ".join(f"{_name(c.key)} {_shown(c.before)} -> {_shown(c.after)}" for c in changes)


def samples_per_batch(comparison: Comparison) -> tuple[float | None, float | None]:
    """Samples in each batch on both sides: how many batches a step draws is another matter (DAT202)."""
    samples, batches = _counted(comparison, "samples"), _counted(comparison, "batches")
    values = [s / b if s and b else None for s, b in zip(samples, batches, strict=True)]
    return values[0], values[1]


def _work(comparison: Comparison) -> list[FingerprintChange]:
    rows = [
        ("batch size", samples_per_batch(comparison)),
        ("backward passes per step", _counted(comparison, "backwards")),
        ("elements of the model's input", (_input(comparison.before), _input(comparison.after))),
    ]
    return [FingerprintChange(name, *values) for name, values in rows if None not in values]


def _counted(comparison: Comparison, name: str) -> tuple[float | None, float | None]:
    counter = comparison.counter(name)
    return (None, None) if counter is None else (counter.before, counter.after)


def _input(window: Window) -> int | None:
    """Elements of the model's input, where all steps that were looked at have the same number."""
    seen = {e.fields.get("elements") for e in window.events_since_origin("model_input")}
    size = next(iter(seen)) if len(seen) == 1 else None
    return size if isinstance(size, int) else None


def _differ(change: FingerprintChange, ratio: float) -> bool:
    before, after = change.before, change.after
    if not isinstance(before, (int, float)) or not isinstance(after, (int, float)):
        return False
    return max(before, after) >= ratio * min(before, after) and min(before, after) > 0


def _name(key: str) -> str:
    return {WORLD_SIZE: "ranks", ELEMENTS: "trained elements"}.get(key, key)


def _shown(value: object) -> str:
    if value is None:
        return "not given"
    return f"{value:.6g}" if isinstance(value, float) else str(value) or "given"
