"""The resumed run saves checkpoints more often than before.

What it means
-------------
The interval came from another place than in the first run: a default, a config inside the checkpoint, a
count that was in epochs and is now in steps, or a best value that was not restored, so that each evaluation
is a new best one.

How it is measured
------------------
Steps of the window in which a save was seen (torch, safetensors, distributed checkpoints): ``SAVES`` more
than in the control's, and ``SAVES_RATIO`` times as many per step; and the saving part of the step grew.
What scripts do around a save (old files removed, logs written) is told by steps of one run: with a save they
take longer than without one, beside the saving part too. Saves that take longer, but come as often, are no
case of this.

How to fix it
-------------
Restore the interval (and the best value) with the rest of the run's settings; write checkpoints in the
background (``torch.distributed.checkpoint.async_save``).

When it is wrong
----------------
A window that is shorter than the interval sees one save by chance, so two are needed. Saves in a thread or
in a format of the script's own cost the step nothing that is called saving.
"""

from __future__ import annotations

from statistics import median

from ckpt_doctor import units
from ckpt_doctor.checks import blame, loading
from ckpt_doctor.facts.comparison import Comparison, Window
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Found, Location, Severity, Side

PARTS = ("saving",)
SAVES = 2
"""So many more saves than in the control's window: where the window begins decides about one."""
SAVES_RATIO = 1.5
"""Growth of saves per step that counts."""


def find(case: Case) -> Found | CannotTell | None:
    """Judge the saves of both windows."""
    comparison = case.comparison
    if comparison is None:
        return None
    if "save" in comparison.not_measured:
        return CannotTell(blame.why_unknown(comparison, "save"))
    before, after = _saves(comparison.before), _saves(comparison.after)
    rates = (before / comparison.before.steps, after / comparison.after.steps)
    if after < before + SAVES or rates[1] < SAVES_RATIO * rates[0]:
        return None
    if not blame.is_slower(comparison, proven=True) or not blame.grew(comparison, PARTS):
        return None
    around_s = max(0.0, (rates[1] - rates[0]) * _around_s(comparison))
    cost_s = min(comparison.delta_s, blame.growth_s(comparison, PARTS) + around_s)
    lines = loading.user_lines(comparison.after.events_within("save"))
    return Found(
        severity=Severity.ERROR,
        side=Side.WORK,
        summary=f"Checkpoints were saved in {after} of {comparison.after.steps} steps (before: {before} of "
        f"{comparison.before.steps}), which costs {units.per_step(cost_s)}.",
        remedy="Restore the interval between two saves, and the best value where only better states are "
        "saved, as they were in the first run.",
        evidence=(
            Evidence("steps with a save, before", before, None, "agent"),
            Evidence("steps with a save, after", after, None, "agent"),
            Evidence("time of one, after", _mean_s(comparison.after), "s", "agent"),
            *blame.part_evidence(comparison, PARTS),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=blame.share_ratio(comparison, cost_s),
        delta_s=cost_s,
        shape=blame.lasting_shape(comparison),
        location=Location(*lines[0]) if lines else None,
    )


def _around_s(comparison: Comparison) -> float:
    """Seconds that a step with a save takes longer than others, beside the saving part.

    Of the first run that has several steps of both kinds; 0 where neither has.
    """
    for window in (comparison.before, comparison.after):
        steps, saves = window.rank.steps, _steps_with_a_save(window)
        beside_s = {i: steps.step_s(i) - steps.parts["saving"][i] for i in range(window.first, window.last)}
        with_one = [beside_s[i] for i in saves]
        without = [seconds for i, seconds in beside_s.items() if i not in saves]
        if min(len(with_one), len(without)) >= SAVES:
            return max(0.0, median(with_one) - median(without))
    return 0.0


def _saves(window: Window) -> int:
    return len(_steps_with_a_save(window))


def _steps_with_a_save(window: Window) -> set[int]:
    """One checkpoint may be several files."""
    return {event.step for event in window.events_within("save")}


def _mean_s(window: Window) -> float | None:
    count = _saves(window)
    return sum(e.duration_s or 0.0 for e in window.events_within("save")) / count if count else None
