"""How much of a slowdown came back in a run in which its suspected cause had been taken away.

All runs are held against the uninterrupted control at the same time, so what counts is ratios: of the
resumed run, ``s``, and of the treated one, ``t``. With ``part`` of the slowdown blamed on the cause, its
share that came back is ``(s - t) / (s - 1) / part``.

Where all three took turns, rounds of one turn each are resampled: what the machine did in a round it did to
all. Else the intervals of both ratios are combined (Zou & Donner 2008, *Construction of confidence limits
about effect measures: a general approach*). Either way the interval is widened by what any two processes of
identical code differ by: the distance of the effect floor from 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ckpt_doctor.facts.comparison import Comparison, Interval, Shape, Window
from ckpt_doctor.facts.run import RankRecord, RunRecord
from ckpt_doctor.facts.treatment import TREATED, UNTREATED, NotTested, Recovery, Trial
from ckpt_doctor.stats.alignment import after_pause, step_turns
from ckpt_doctor.stats.comparison import compare_runs
from ckpt_doctor.stats.intervals import resample_rounds

START_NOISE_RATIO = 1.5
"""The start of a process is seen once: its parts may be so many times as long, or as short, by chance."""
CHANGING = (Shape.DECAYING, Shape.GROWING)
NO_SLOWDOWN = "the slowdown was not there beyond doubt while the cause was taken away"

PaidAtStart = Callable[[Comparison], "float | None"]
"""Seconds that the later run of a comparison paid for a cause at its start."""
Rounds = Sequence[Sequence[Sequence[float]]]
Share = Callable[[Sequence[float]], "float | None"]
"""Makes the share that came back of the means of control, resumed and treated run."""


def recovered(
    trial: Trial,
    main: Comparison,
    runs: tuple[RunRecord, RunRecord, RunRecord],
    blamed_s: float | None,
    paid_s: PaidAtStart | None,
) -> Recovery | NotTested:
    """What came back in a trial.

    Args:
        trial: What was taken away.
        main: The comparison in which the cause was found.
        runs: The control, the resumed run and the treated one.
        blamed_s: Seconds (per step, or once) that the cause was found to cost; None where it was only
            suspected: then it is tested for all that there is.
        paid_s: How a cost at the start is measured; None for causes that cost time in every step.

    Raises:
        RecordingError: The treated run has too few steps to compare.
    """
    before, after, treated_run = runs
    treated = compare_runs(before, treated_run, trial.name)
    untreated = _why_untreated(treated.after.rank, trial)
    if untreated is not None:
        return NotTested(untreated)
    if not trial.is_lasting and paid_s is not None:
        return once(paid_s(main), paid_s(treated), blamed_s)
    beside = any(turn.phase == trial.name for turn in after.turns)
    if treated.paired and not beside and main.shape in CHANGING:
        return NotTested(
            f"the slowdown is {main.shape.value}, and the resumed run was not beside the treated one"
        )
    slow = compare_runs(before, after, trial.name) if beside else main
    in_turns = beside and slow.paired and treated.paired
    rounds = _rounds((treated.before, slow.after, treated.after), trial.name) if in_turns else ()
    return lasting(main, slow, treated, blamed_s or main.delta_s, rounds)


def lasting(
    main: Comparison, slow: Comparison, treated: Comparison, of_s: float, rounds: Rounds = ()
) -> Recovery | NotTested:
    """What came back of a lasting cost.

    Args:
        main: The comparison in which the cause was found.
        slow: The resumed run against the control while the treated one took its turns beside them; the
            main comparison again where it did not.
        treated: The treated run against the control.
        of_s: Seconds per step that the cause was found to cost.
        rounds: Step times of the control, the resumed and the treated run, one turn of each in a round.
    """
    if main.delta_s <= 0 or of_s <= 0 or slow.ratio.value <= 1.0:
        return NotTested(NO_SLOWDOWN)
    part = min(1.0, of_s / main.delta_s)

    def share(means: Sequence[float]) -> float | None:
        control, slowed, cured = means
        return (slowed - cured) / (slowed - control) / part if slowed > control else None

    found = resample_rounds(rounds, share) or _combined(slow.ratio, treated.ratio, share)
    if found is None:
        return NotTested(NO_SLOWDOWN)
    luck = (max(slow.effect_floor_ratio, treated.effect_floor_ratio) - 1.0) / (slow.ratio.value - 1.0) / part
    below, above = (math.hypot(end - found.value, luck) for end in (found.low, found.high))
    return Recovery(found.value * of_s, of_s, Interval(found.value, found.value - below, found.value + above))


def once(after_s: float | None, treated_s: float | None, of_s: float | None) -> Recovery | NotTested:
    """What came back of a cost that is paid once, at the start.

    Args:
        after_s: Seconds that the resumed run paid; None where that is not known.
        treated_s: Seconds that the treated run paid for the same.
        of_s: Seconds that the cause was found to cost; None for all that was paid.
    """
    if after_s is None or treated_s is None:
        return NotTested("the cost at the start is not known on both sides")
    of_s = after_s if of_s is None else of_s
    if of_s <= 0:
        return NotTested("nothing was paid at the start that could come back")
    value, low, high = (
        (after_s - paid_s) / of_s
        for paid_s in (treated_s, treated_s * START_NOISE_RATIO, treated_s / START_NOISE_RATIO)
    )
    return Recovery(value * of_s, of_s, Interval(value, low, high))


def _combined(slow: Interval, treated: Interval, share: Share) -> Interval | None:
    """The share with an interval made of those of both ratios; None where there may be no slowdown."""
    value, slowest, fastest = (share((1.0, s, treated.value)) for s in (slow.value, slow.high, slow.low))
    worst, best = (share((1.0, slow.value, t)) for t in (treated.high, treated.low))
    if value is None or slowest is None or fastest is None or worst is None or best is None:
        return None
    return Interval(
        value,
        value - math.hypot(value - fastest, value - worst),
        value + math.hypot(value - slowest, value - best),
    )


def _rounds(windows: Sequence[Window], phase: str) -> Rounds:
    """The step times of each round of turns, one turn of each run, as they are compared."""
    turns = [_turns(window, phase) for window in windows]
    return list(zip(*turns, strict=False))


def _turns(window: Window, phase: str) -> list[list[float]]:
    """Step times by turn, without the first steps after each pause."""
    return [
        [
            window.rank.steps.step_s(i)
            for i in after_pause(turn, window.rank)
            if window.first <= i < window.last
        ]
        for turn in step_turns(window.run, window.rank, phase)
    ]


def _why_untreated(rank: RankRecord, trial: Trial) -> str | None:
    """Why the treated run is a resumed run like the other; None where something was put back in it."""
    failed = [str(event.fields.get("why")) for event in rank.events_of(UNTREATED)]
    if failed or trial.put_back.settings is None:
        return next(iter(failed), None)
    if any(rank.events_of(TREATED)):
        return None
    return rank.not_measured.get(TREATED, "the treated run had nothing to put back")
