"""The gradient scaler began anew after the resume, and threw updates away until it found its scale again.

What it means
-------------
Mixed precision in float16 multiplies the loss by a scale that is halved whenever a gradient overflows, and
that update is left out. A scaler that was not restored starts at its default (65536) again: the first
updates after the resume are skipped, their batches are lost, and with accumulation a skip costs many
micro-batches.

How it is measured
------------------
Skipped updates in the first ``FIRST_STEPS`` steps since the resume, against the control's in as many steps
since the save: ``MIN_SKIPS`` more, and most of them in the first half of these steps, since a loss that is
not finite any more skips all along. Confirmed where the resumed run's scaler began at the first run's very
first scale, or ``FALL_RATIO`` above the control's at the save. An error, because training was lost; its time
is told as a one-time cost from ``blame.ONE_TIME_S`` on.

How to fix it
-------------
Save ``scaler.state_dict()`` with the checkpoint and load it before the first step (in Lightning and
Accelerate: keep the precision plugin's state).

When it is wrong
----------------
A model whose gradients just began to overflow skips too, on both sides, in the middle of a run. Scalers
outside torch (apex, DeepSpeed) are not seen. On a device the scale itself is not read, because that would
wait; the scale that the scaler began with is known.
"""

from __future__ import annotations

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, Shape, Window
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Severity, Side

HOOK = "grad_scaler"
SKIP = "scaler_skip"
FIRST_SCALE = "scaler.0.first_scale"
SCALE = "scaler.0.scale"
FIRST_STEPS = 100
"""A scale is halved at each skip, so even from the default it is found within these."""
MIN_SKIPS = 3
"""So many more than in the control: one or two come with every growth of the scale."""
FALL_RATIO = 2.0 ** (MIN_SKIPS - 1)
"""First scale over the control's own scale at the save that explains so many skips."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge the updates that were left out after the resume."""
    comparison = case.comparison
    if comparison is None:
        return None
    if HOOK in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, HOOK))
    first_scale = _number(comparison.after, FIRST_SCALE)
    if _number(comparison.before, FIRST_SCALE) is None or first_scale is None:
        return None  # one of them trains without a scaler
    steps = min(FIRST_STEPS, *(w.last - w.origin for w in (comparison.before, comparison.after)))
    before, after = _skips(comparison.before, steps), _skips(comparison.after, steps)
    early = sum(step < steps / 2 for step in after)
    if len(after) - len(before) < MIN_SKIPS or early <= len(after) - early:
        return None
    lost_s = (len(after) - len(before)) * comparison.after.step_s
    return Found(
        severity=Severity.ERROR,
        side=Side.COMPUTE,
        summary=f"The gradient scaler began anew: {len(after)} of the first {steps} updates after the resume "
        f"were skipped, {len(before)} of the control's.",
        remedy="Save scaler.state_dict() with the checkpoint, and load it before the first step.",
        evidence=(
            Evidence(f"updates skipped in the first {steps} steps, before", len(before), None, "agent"),
            Evidence(f"updates skipped in the first {steps} steps, after", len(after), None, "agent"),
            Evidence("scale at the control's save", _scale_at_save(comparison), None, "fingerprint"),
            Evidence("scale that the resumed run began with", first_scale, None, "fingerprint"),
            Evidence("time of the lost updates", lost_s, "s", "agent"),
        ),
        confidence=Confidence.CONFIRMED if _began_anew(comparison) else Confidence.SUPPORTED,
        delta_s=lost_s if lost_s >= blame.ONE_TIME_S else None,
        shape=Shape.DECAYING,
    )


def _skips(window: Window, steps: int) -> list[int]:
    """Relative steps since the origin whose update was left out."""
    relative = (event.step - window.origin for event in window.events_since_origin(SKIP))
    return [step for step in relative if step < steps]


def _began_anew(comparison: Comparison) -> bool:
    """Whether the resumed run's scaler has not got its scale from the checkpoint."""
    first, own = (_number(w, FIRST_SCALE) for w in (comparison.after, comparison.before))
    saved = _scale_at_save(comparison)
    above = first is not None and saved is not None and first >= FALL_RATIO * saved
    return above or (first is not None and first == own)


def _scale_at_save(comparison: Comparison) -> float | None:
    """The control's scale in its last fingerprint before the save; None where it was not read."""
    window = comparison.before
    known = [f.values.get(SCALE) for f in window.rank.fingerprints if f.step <= window.origin]
    return known[-1] if known and isinstance(known[-1], float) else None


def _number(window: Window, key: str) -> float | None:
    prints = window.rank.fingerprints
    value = prints[-1].values.get(key) if prints else None
    return float(value) if isinstance(value, (int, float)) else None
