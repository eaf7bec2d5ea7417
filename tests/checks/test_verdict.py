"""The one answer."""

from __future__ import annotations

from typing import Any

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Case, Confidence, Finding, Severity, Side, Status, Verdict
from ckpt_doctor.facts.run import RunRecord
from tests.builders import RESUMED_STEPS, control, event, make_case, resumed


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


def test_arms_that_took_no_turns_need_a_larger_effect() -> None:
    """1.2 times is a slowdown in turns, and a doubt one after the other."""
    apart: dict[str, Any] = {"turn_steps": None}
    assert _verdict(control(), resumed(0.0125)).status is Status.SLOWER
    assert _verdict(control(**apart), resumed(0.0125, **apart)).status is not Status.SLOWER


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
