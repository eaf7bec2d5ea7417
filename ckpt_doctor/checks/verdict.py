"""Turns findings into one answer.

The order of what is said: a lasting slowdown with its largest cause; a one-time cost of the resume; a
measurement too weak to say; equal or faster. A cause that was taken away in vain is none. Two experiments
are not compared at all. A wrong answer is worse than none, so a ratio that only the clock shows, on a busy
machine or in few steps, is inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.facts import floors
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import Case, Confidence, Finding, Severity, Side, Status, Verdict

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison

UNEXPLAINED = ("DAT209", "CMP319")
"""Rules that say that the cause is not established."""
CLOSE_RATIO = 0.5
"""The part of the larger share from which on two shares are about as large."""
HEAP = "CMP317"
"""The rule about what identical processes differ in."""


def decide(case: Case, findings: Sequence[Finding]) -> Verdict:
    """Give the answer to a case.

    Args:
        case: The facts.
        findings: What all rules found.
    """
    if case.comparison is None:
        return _of_checkpoints(findings)
    from ckpt_doctor.checks import likeness

    comparison = case.comparison
    if likeness.differences(comparison):
        return _without_slowdown(comparison, findings, None)
    serious = [f for f in findings if f.severity is Severity.ERROR and not f.code.startswith("STA")]
    errors = [f for f in serious if not is_refuted(f)]
    # Of the machine other evidence tells nothing: there the rest of the clock is no first cause.
    clock_last = RECORDING in comparison.not_measured
    lasting = sorted(
        (f for f in errors if f.share_ratio is not None),
        key=lambda f: (clock_last and f.code in UNEXPLAINED, -(f.share_ratio or 0.0)),
    )
    once = sorted(
        (f for f in errors if f.share_ratio is None and f.delta_s is not None),
        key=lambda f: -(f.delta_s or 0.0),
    )
    if lasting:
        return _slower(comparison, lasting)
    if once:
        return _slower_start(comparison, once)
    if len(errors) < len(serious):
        vain = sorted((f for f in serious if is_refuted(f)), key=lambda f: -(f.share_ratio or 0.0))
        return _slower_for_no_known_cause(comparison, vain)
    other = next(iter(errors), None)
    return _without_slowdown(comparison, findings, other)


def is_refuted(finding: Finding) -> bool:
    """Whether a finding's cause was taken away, and the run was as slow without it."""
    return finding.confirmation is not None and finding.confirmation.confirmed is False


def _slower(comparison: Comparison, causes: Sequence[Finding]) -> Verdict:
    first = causes[0]
    told = first.name.replace("-", " ")
    if first.code in UNEXPLAINED:
        told = "the cause is not established"
    cost_s = (first.share_ratio or 0.0) * comparison.delta_s
    cost = f"{units.seconds(cost_s)} of {units.seconds(comparison.delta_s)}"
    more = f", and {len(causes) - 1} more" if len(causes) > 1 else ""
    return Verdict(
        status=Status.SLOWER,
        side=_side(comparison, causes),
        cause=first.code,
        confidence=first.confidence,
        sentence=f"The resumed run is {_times(comparison)} slower ({_steps(comparison)}): {told}, {cost} "
        f"per step{more}{_proof(first)}.",
        next_step=first.remedy if first.code in UNEXPLAINED else None,
    )


def _side(comparison: Comparison, causes: Sequence[Finding]) -> Side:
    """The side of the largest cause; of two that only a trace's clock tells, the far larger one's or none."""
    first, second = causes[0], causes[1] if len(causes) > 1 else None
    if RECORDING not in comparison.not_measured or first.code not in UNEXPLAINED or second is None:
        return first.side
    close = (second.share_ratio or 0.0) >= CLOSE_RATIO * (first.share_ratio or 0.0)
    return Side.NOT_ESTABLISHED if close and second.side is not first.side else first.side


def _slower_start(comparison: Comparison, causes: Sequence[Finding]) -> Verdict:
    first = causes[0]
    cost = f"{units.seconds(first.delta_s or 0.0)} once"
    return Verdict(
        status=Status.SLOWER,
        side=first.side,
        cause=first.code,
        confidence=first.confidence,
        sentence=f"The resume costs {cost}: {first.name.replace('-', ' ')}; "
        f"its steps run at {_times(comparison)} of the time before ({_steps(comparison)}){_proof(first)}.",
    )


def _slower_for_no_known_cause(comparison: Comparison, suspected: Sequence[Finding]) -> Verdict:
    """Slower, though every cause that was found was taken away in vain."""
    told = " and ".join(dict.fromkeys(f.name.replace("-", " ") for f in suspected))
    lasting = any(f.share_ratio is not None for f in suspected)
    cost = f"The resumed run is {_times(comparison)} slower ({_steps(comparison)})"
    if not lasting:
        cost = f"The resume costs {units.seconds(max(f.delta_s or 0.0 for f in suspected))} once"
    return Verdict(
        status=Status.SLOWER,
        side=Side.NOT_ESTABLISHED,
        cause=None,
        confidence=Confidence.SUSPECTED,
        sentence=f"{cost}; the cause is not established: without {told} it was as slow.",
        next_step="Name another cause with --suspect, or look at the lines that grew.",
    )


def _proof(finding: Finding) -> str:
    confirmation = finding.confirmation
    return f"; {confirmation.sentence}" if confirmation is not None and confirmation.confirmed else ""


def _without_slowdown(comparison: Comparison, findings: Sequence[Finding], wrong: Finding | None) -> Verdict:
    """Same, faster or inconclusive; ``wrong`` is an error that is not about time."""
    doubt = doubt_of(comparison, findings)
    if doubt is not None and wrong is None:
        return Verdict(
            Status.INCONCLUSIVE,
            Side.NOT_ESTABLISHED,
            None,
            None,
            f"No verdict: {doubt}.",
            _next_step(comparison),
        )
    status, speed = _speed(comparison, findings)
    if doubt is not None:
        status, speed = Status.INCONCLUSIVE, f"no verdict on its speed: {doubt}"
    if wrong is None:
        sentence = f"{speed[0].upper()}{speed[1:]} ({_steps(comparison)})."
        return Verdict(status, Side.NONE, None, None, sentence)
    sentence = f"{wrong.summary.rstrip('.')}; {speed} ({_steps(comparison)})."
    return Verdict(status, wrong.side, wrong.code, wrong.confidence, sentence)


def _speed(comparison: Comparison, findings: Sequence[Finding]) -> tuple[Status, str]:
    ratio = comparison.ratio
    if _is_faster(comparison):
        return (
            Status.FASTER,
            f"the resumed run is faster: each step takes {units.ratio(ratio.value)} of the time before",
        )
    if any(f.code == HEAP for f in findings):
        return Status.SAME, (
            f"the resume itself does not make the run slower: it reads {units.ratio(ratio.value)}, "
            "by page faults of the heap, in which identical processes differ too"
        )
    if ratio.low > 1.0:
        floor = units.ratio(comparison.effect_floor_ratio)
        return Status.SAME, (
            f"the resumed run is as fast as before, as far as {_pairs(comparison)} of processes can tell: "
            f"it reads {units.ratio(ratio.value)}, and identical code differs by up to {floor}"
        )
    return Status.SAME, "the resumed run is as fast as before"


def _is_faster(comparison: Comparison) -> bool:
    return _reads_below(comparison, comparison.effect_floor_ratio)


def _reads_too_little(comparison: Comparison) -> bool:
    """Less than identical code on a quiet machine, though it may differ by more on this one."""
    return _reads_below(comparison, min(comparison.effect_floor_ratio, floors.PAIRED_RATIO))


def _reads_below(comparison: Comparison, floor_ratio: float) -> bool:
    """Below 1 by more than a floor, and by more than who starts second may be faster, however many agree."""
    ratio = comparison.ratio
    return ratio.high < 1.0 and ratio.value <= 1.0 / max(floor_ratio, floors.SAME_RATIO)


def doubt_of(comparison: Comparison, findings: Sequence[Finding]) -> str | None:
    """Why the measurement does not say that the runs are equally fast; None where it does."""
    from ckpt_doctor.checks import blame, likeness

    ratio = comparison.ratio
    reading = f"the clock reads {_times(comparison)} (95 % {ratio.low:.2f}-{ratio.high:.2f})"
    unlike = likeness.differences(comparison)
    if unlike:
        return f"the runs are not the same experiment ({likeness.told(unlike)})"
    if comparison.arguments:
        return f"the commands differ ({likeness.told(comparison.arguments)}), and {reading}"
    if blame.observed_too_closely(comparison):
        share = units.percent(blame.observer_ratio(comparison) or 0.0)
        return f"observing takes {share} of a step, and {reading}"
    if any(f.code == HEAP for f in findings):
        return None
    few = blame.few_steps(comparison)
    if few is not None:
        return few
    if blame.contended(comparison) and blame.is_slower(comparison, proven=True):
        return f"{reading}, but the machine was busy with other things and no counter explains it"
    if blame.contended(comparison) and _reads_too_little(comparison):
        # What makes identical code look faster hides a slowdown as well.
        return f"{reading}, but the machine was busy with other things"
    if blame.stretched(comparison):
        return f"{reading}, but something else had the machine in one of the runs"
    if blame.would_count_in_turns(comparison):
        return f"{reading}, and runs that took no turns differ by as much without a cause"
    if ratio.value >= comparison.effect_floor_ratio:
        return f"{reading}, which these steps cannot tell from noise"
    if blame.too_noisy(comparison):
        return f"only a slowdown above {units.ratio(comparison.detectable_ratio)} would have shown"
    return None


def is_open(comparison: Comparison, verdict: Verdict) -> bool:
    """Whether more pairs of processes may give another answer than these.

    They may where only the clock speaks: it reads more than identical code, or it reads too little to tell;
    it does not say slower, but a slowdown that people look for fits into its interval; or it says slower, but
    not by far, and no counter or setting says why, as long as it is not known how far pairs differ.

    Args:
        comparison: The runs.
        verdict: The answer that they give.
    """
    from ckpt_doctor.checks import blame, likeness

    if likeness.differences(comparison) or comparison.arguments:
        return False
    if blame.too_few_steps(comparison) or blame.observed_too_closely(comparison):
        return False
    if verdict.status is Status.SLOWER:
        close = comparison.ratio.low < floors.SURE_RATIO and not comparison.knows_spread
        return verdict.cause in UNEXPLAINED and close
    hidden = comparison.ratio.low > 1.0 or comparison.ratio.high > floors.SAME_RATIO
    return verdict.status is Status.INCONCLUSIVE or hidden


def _next_step(comparison: Comparison) -> str:
    from ckpt_doctor.checks import blame, likeness

    if likeness.differences(comparison) or comparison.arguments:
        return "Compare a run with its own resume: the same command, but for what resumes it."
    if blame.observed_too_closely(comparison):
        return "Measure without stacks (--no-stacks), or with larger steps (a larger batch or model)."
    if blame.contended(comparison):
        return "Repeat on a quiet machine, or with --threads 1 for both arms."
    if not comparison.paired:
        return "Probe both arms in turns on one machine, so that its moods meet both."
    return "Measure more pairs of processes (--pairs 8 --budget 120), with --threads 1 and --steady-heap."


def _of_checkpoints(findings: Sequence[Finding]) -> Verdict:
    ordered = sorted(findings, key=lambda f: -f.severity.rank)
    worst = next((f for f in ordered if f.severity is not Severity.INFO), None)
    if worst is None:
        return Verdict(
            Status.HEALTHY, Side.NONE, None, None, "Nothing in the checkpoint will make a resume slower."
        )
    count = sum(1 for f in findings if f.severity is not Severity.INFO)
    more = f" ({count - 1} more)" if count > 1 else ""
    confidence: Confidence | None = worst.confidence
    return Verdict(Status.FINDINGS, worst.side, worst.code, confidence, f"{worst.summary}{more}")


def _times(comparison: Comparison) -> str:
    return f"{comparison.ratio.value:.2f}x"


def _steps(comparison: Comparison) -> str:
    ratio = comparison.ratio
    before, after = units.seconds(comparison.before.step_s), units.per_step(comparison.after.step_s)
    over = f" over {_pairs(comparison)} of processes" if comparison.pairs else ""
    return f"{before} -> {after}, 95 % {ratio.low:.2f}-{ratio.high:.2f}{over}"


def _pairs(comparison: Comparison) -> str:
    return f"{len(comparison.pairs)} pairs" if comparison.pairs else "one pair"
