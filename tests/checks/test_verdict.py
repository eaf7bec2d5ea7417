"""The one answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ckpt_doctor.checks.blame import is_slower
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide, is_open
from ckpt_doctor.facts.comparison import Interval, PairRatio
from ckpt_doctor.facts.report import Case, Confidence, Finding, Severity, Side, Status, Verdict
from ckpt_doctor.facts.run import RunRecord
from tests.builders import RESUMED_STEPS, control, event, make_case, resumed
from tests.report.sample import comparison


def _verdict(before: RunRecord, after: RunRecord) -> Verdict:
    case = make_case(before, after)
    return decide(case, judge(case)[0])


def _finding(severity: Severity, code: str = "STA101") -> Finding:
    return Finding(
        code=code,
        name="optimizer-state-absent",
        severity=severity,
        side=Side.COMPUTE,
        summary="No optimizer state.",
        remedy="Save it.",
        confidence=Confidence.CONFIRMED,
    )


def test_the_largest_lasting_cause_comes_first() -> None:
    """6 ms of a cold cache and 2 ms of the optimizer: the cache is the cause, the other is counted."""
    after = resumed(
        0.018,
        parts={"data_wait": 0.007, "optimizer": 0.003},
        sampled={"physical_read_bytes": 10**6},
        values={"optimizer.0.group.0.foreach": False},
    )
    verdict = _verdict(control(), after)
    assert (verdict.cause, verdict.side) == ("DAT203", Side.DATA)
    assert verdict.sentence.endswith("per step, and 1 more.")


def test_lasting_causes_come_before_one_time_and_these_before_wrong_data() -> None:
    """A slower step matters longer than a slow start."""
    replay = {"batches": [61] + [1] * (RESUMED_STEPS - 1)}
    anew = [str(i) for i in range(RESUMED_STEPS)]
    slow: dict[str, Any] = {"parts": {"optimizer": 0.009}, "values": {"optimizer.0.group.0.foreach": False}}
    assert _verdict(control(), resumed(0.018, counters=replay, digests=anew, **slow)).cause == "CMP306"
    assert _verdict(control(), resumed(counters=replay, digests=anew)).cause == "DAT202"
    assert _verdict(control(), resumed(digests=anew)).cause == "DAT201"


def test_faster_is_said_too() -> None:
    """A resumed run at half the time is no fault."""
    verdict = _verdict(control(), resumed(0.005, parts={"backward": 0.0, "forward": 0.002}))
    assert (verdict.status, verdict.side, verdict.cause) == (Status.FASTER, Side.NONE, None)


def test_a_little_faster_is_as_fast_as_before() -> None:
    """Who starts second may read 2 % less, in every pair: no number of them makes that faster."""
    pairs = (PairRatio("b", "a", Interval(0.97, 0.95, 0.99)),) * 8
    for value, told in ((0.97, Status.SAME), (0.90, Status.FASTER)):
        ratio = Interval(value, value - 0.01, value + 0.01)
        found = comparison(pairs=pairs, ratio=ratio, effect_floor_ratio=1.02)
        assert decide(Case(comparison=found), []).status is told


def test_faster_on_a_busy_machine_is_no_answer() -> None:
    """What makes identical code look faster hides a slowdown as well; more pairs may tell."""
    busy: dict[str, Any] = {"other_cpu_ratio": 0.7, "sampled": {"run_queue_s": 0.003}}
    before, after = control(**busy), resumed(0.005, parts={"backward": 0.0, "forward": 0.002}, **busy)
    verdict = _verdict(before, after)
    assert (verdict.status, verdict.side) == (Status.INCONCLUSIVE, Side.NOT_ESTABLISHED)
    assert "busy with other things" in verdict.sentence
    assert _is_open(before, after)
    assert _verdict(before, resumed(**busy)).status is Status.SAME


def test_a_far_lower_reading_on_a_busy_machine_is_no_answer_however_identical_code_differs() -> None:
    """0.79 (0.68-0.92) with a floor of 1.3 is neither faster nor the same; on a quiet one it is."""
    busy: dict[str, Any] = {"other_cpu_ratio": 0.7, "sampled": {"run_queue_s": 0.003}}
    for case, told in (
        (make_case(control(**busy), resumed(**busy)), Status.INCONCLUSIVE),
        (make_case(control(), resumed()), Status.SAME),
    ):
        assert case.comparison is not None
        low = replace(case.comparison, ratio=Interval(0.79, 0.68, 0.92), effect_floor_ratio=1.3)
        assert decide(replace(case, comparison=low), []).status is told
        near = replace(case.comparison, ratio=Interval(0.92, 0.86, 0.98), effect_floor_ratio=1.3)
        assert decide(replace(case, comparison=near), []).status is Status.SAME


def test_arms_that_took_no_turns_need_a_larger_effect() -> None:
    """1.2 times is a slowdown in turns, and a doubt one after the other."""
    apart: dict[str, Any] = {"turn_steps": None}
    assert _verdict(control(), resumed(0.0125)).status is Status.SLOWER
    assert _verdict(control(**apart), resumed(0.0125, **apart)).status is Status.INCONCLUSIVE
    assert _verdict(control(**apart), resumed(0.0105, **apart)).status is Status.SAME


def test_an_error_about_a_checkpoint_does_not_make_the_run_slower() -> None:
    """Findings about the file are told beside the verdict about the speed."""
    case = make_case(control(), resumed())
    assert decide(case, [_finding(Severity.ERROR)]).status is Status.SAME


def test_checkpoints_alone_are_healthy_or_have_findings() -> None:
    """Mentions do not count."""
    assert decide(Case(), []).status is Status.HEALTHY
    assert decide(Case(), [_finding(Severity.INFO)]).status is Status.HEALTHY
    verdict = decide(Case(), [_finding(Severity.WARNING, "STA102"), _finding(Severity.ERROR)])
    assert (verdict.status, verdict.cause) == (Status.FINDINGS, "STA101")


def test_the_sentence_holds_ratio_times_and_interval() -> None:
    """What a person reads first."""
    after = resumed(0.018, parts={"data_wait": 0.009}, sampled={"physical_read_bytes": 10**6})
    sentence = _verdict(control(events=[event("save", 60, 0.1)]), after).sentence
    assert "1.79x slower (10.0 ms -> 17.9 ms/step, 95 %" in sentence
    assert "cold page cache" in sentence


def test_several_pairs_of_processes_are_told_as_such() -> None:
    """Their number stands beside the interval; where they do not tell enough, more of them is the advice."""
    pairs = (PairRatio("b", "a", Interval(1.0, 0.9, 1.1)),) * 6
    above = comparison(pairs=pairs, ratio=Interval(1.03, 1.01, 1.05), effect_floor_ratio=1.04)
    verdict = decide(Case(comparison=above), [])
    assert verdict.status is Status.SAME
    assert "as far as 6 pairs of processes can tell: it reads 1.03×" in verdict.sentence
    assert verdict.sentence.endswith("95 % 1.01-1.05 over 6 pairs of processes).")
    open_ = comparison(pairs=pairs, ratio=Interval(1.08, 0.98, 1.19), effect_floor_ratio=1.04)
    verdict = decide(Case(comparison=open_), [])
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.next_step is not None
    assert "--pairs" in verdict.next_step


def test_the_spread_of_processes_stands_in_for_the_share_of_the_floor() -> None:
    """Over pairs an interval above 1 is enough, with a mean above the floor; one pair needs more."""
    ratio = Interval(1.05, 1.01, 1.09)
    pairs = (PairRatio("b", "a", ratio),) * 3
    assert is_slower(comparison(pairs=pairs, ratio=ratio, effect_floor_ratio=1.04), proven=False)
    assert not is_slower(comparison(pairs=pairs[:2], ratio=ratio, effect_floor_ratio=1.04), proven=False)
    assert not is_slower(comparison(pairs=pairs, ratio=ratio, effect_floor_ratio=1.06), proven=False)
    low = Interval(1.05, 0.99, 1.11)
    assert not is_slower(comparison(pairs=pairs, ratio=low, effect_floor_ratio=1.04), proven=False)


def _is_open(before: RunRecord, after: RunRecord, pairs: int = 1) -> bool:
    case = make_case(before, after)
    assert case.comparison is not None
    measured = (
        tuple(PairRatio(str(i), str(i), case.comparison.ratio) for i in range(pairs)) if pairs > 1 else ()
    )
    case = replace(case, comparison=replace(case.comparison, pairs=measured))
    assert case.comparison is not None
    return is_open(case.comparison, decide(case, judge(case)[0]))


def test_a_clear_answer_needs_no_more_pairs() -> None:
    """Not where the runs are as fast, nor where a setting explains the slowdown, nor where it is large."""
    setting: dict[str, Any] = {
        "parts": {"optimizer": 0.003},
        "values": {"optimizer.0.group.0.foreach": False},
    }
    assert not _is_open(control(), resumed())
    assert not _is_open(control(), resumed(0.0125, **setting))
    assert not _is_open(control(), resumed(0.018))


def test_what_only_the_clock_says_is_measured_again() -> None:
    """1.2 times without a counter that moved may be the processes' own; three pairs tell."""
    assert _is_open(control(), resumed(0.012))
    assert _is_open(control(), resumed(0.012), pairs=2)
    assert not _is_open(control(), resumed(0.012), pairs=3)


def test_what_a_slowdown_fits_into_is_measured_again() -> None:
    """As fast as before, with an interval that reaches to 1.08, may be 1.08; one up to 1.04 may not."""
    case = make_case(control(), resumed())
    assert case.comparison is not None
    for high, wanted in ((1.04, False), (1.08, True)):
        measured = replace(case.comparison, ratio=Interval(0.99, 0.95, high))
        verdict = decide(replace(case, comparison=measured), [])
        assert verdict.status is Status.SAME
        assert is_open(measured, verdict) is wanted


def test_a_small_slowdown_is_measured_again() -> None:
    """4 % that the clock is sure of are less than two processes may differ by; more pairs tell."""
    for pairs in (1, 3):
        assert _is_open(control(), resumed(0.0104), pairs)
        assert not _is_open(control(), resumed(0.0096), pairs)
