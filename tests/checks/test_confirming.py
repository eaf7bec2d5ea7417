"""Which findings are tested, and what the outcome makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks.confirming import chosen, judged, needless, untested, with_confirmations
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Interval, Shape
from ckpt_doctor.facts.report import (
    Case,
    Confidence,
    Finding,
    NotEvaluated,
    Report,
    Severity,
    Side,
    Status,
)
from ckpt_doctor.facts.treatment import Confirmation, NotTested, NotThere, PutBack, Recovery, Trial
from tests.builders import comparison_of, control, make_case, one, resumed

NAMES = {"DAT203": "cold-page-cache", "CMP317": "heap-page-faults"}
TRIAL = Trial(code="DAT203", is_lasting=True, put_back=PutBack(what="cache warmed"), cannot="Not all.")


def finding(code: str, delta_s: float | None, share_ratio: float | None = None, **changes: object) -> Finding:
    """An error of a rule."""
    usual = Finding(
        code=code,
        name="a-cause",
        severity=Severity.ERROR,
        side=Side.DATA,
        summary="It is slower.",
        remedy="Mend it.",
        delta_s=delta_s,
        share_ratio=share_ratio,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def outcome(value: float, low: float, high: float, trial: Trial = TRIAL) -> Confirmation:
    """What is made of a share of 7.9 ms that came back."""
    return judged(trial, Recovery(value * 0.0079, 0.0079, Interval(value, low, high)))


def test_lasting_causes_are_tested_first() -> None:
    """Then those that are paid once; one finding a rule, and none that costs nothing or names no cause."""
    findings = [
        finding("DAT202", 60.0),
        finding("CMP305", 0.001, 0.1),
        finding("DAT203", 0.008, 0.8),
        finding("DAT202", 0.002, 0.2),
        finding("DAT201", None),
        finding("CMP306", 0.0, 0.0),
        finding("CMP319", 0.004, 0.4),
        finding("STA131", 0.003),
        finding("DAT205", 0.01, 1.0, severity=Severity.INFO),
    ]
    assert [(f.code, f.delta_s) for f in chosen(findings, NAMES, ())] == [
        ("DAT203", 0.008),
        ("DAT202", 0.002),
        ("CMP305", 0.001),
    ]


def test_named_suspects_are_tested_in_any_case() -> None:
    """Whether a rule has found them or not, and nothing else is."""
    found = finding("DAT203", 0.008, 0.8)
    picked = chosen([found, finding("CMP305", 0.001, 0.1)], NAMES, ("CMP317", "DAT203", "CMP317"))
    assert picked[1] == found
    assert (picked[0].code, picked[0].name, picked[0].side) == ("CMP317", "heap-page-faults", Side.COMPUTE)
    assert (picked[0].severity, picked[0].confidence) == (Severity.INFO, Confidence.SUSPECTED)


def report_of(case: Case) -> Report:
    """What is told of a case before anything is taken away; no rule was short of facts."""
    findings, _ = judge(case)
    return Report("probe", decide(case, findings), findings, (), case.comparison)


def test_a_suspect_of_which_nothing_is_there() -> None:
    """It is denied without a trial, unless a rule has found it, or could not be asked."""
    report = report_of(make_case(control(), resumed()))
    (suspect,) = chosen(report.findings, {"CMP306": "optimizer-slow-path"}, ("CMP306",))
    nothing = NotThere("no option changed")
    denied = needless(suspect, nothing, report)
    assert denied is not None
    assert (denied.confirmed, denied.sentence) == (False, "not confirmed: no option changed")
    assert needless(suspect, NotTested("it cannot be"), report) is None
    assert needless(suspect, nothing, replace(report, findings=(suspect,))) is None
    unknown = NotEvaluated("CMP306", "no optimizer was seen")
    assert needless(suspect, nothing, replace(report, not_evaluated=(unknown,))) is None


def test_where_no_time_was_lost_nothing_can_come_back() -> None:
    """A suspect that would cost time in every step is denied where the steps are surely as fast as before."""
    report = report_of(make_case(control(), resumed()))
    (suspect,) = chosen([], NAMES, ("DAT203",))
    denied = needless(suspect, TRIAL, report)
    assert denied is not None
    assert denied.confirmed is False
    assert denied.sentence.startswith("not confirmed: each step takes as long as before")
    assert needless(suspect, replace(TRIAL, is_lasting=False), report) is None
    assert needless(finding("DAT203", 0.001), TRIAL, report) is None
    assert needless(suspect, TRIAL, report_of(slow_case()[0])) is None
    assert report.comparison is not None
    open_ = replace(report.comparison, ratio=Interval(1.3, 0.9, 1.8))
    assert needless(suspect, TRIAL, replace(report, comparison=open_)) is None


@pytest.mark.parametrize(
    ("value", "low", "high", "confirmed"),
    [
        (0.94, 0.80, 1.1, True),
        (0.51, 0.01, 1.0, True),
        (0.94, -0.1, 2.0, None),
        (0.30, 0.05, 0.55, None),
        (0.03, -0.2, 0.26, False),
        (-0.5, -0.9, -0.1, False),
    ],
)
def test_half_has_to_come_back(value: float, low: float, high: float, confirmed: bool | None) -> None:
    """With an interval above 0 that confirms; an interval below a half denies; the rest is open."""
    told = outcome(value, low, high)
    assert told.confirmed is confirmed
    assert (told.treatment, told.cannot) == ("cache warmed", "Not all.")
    assert (told.why is None) == (confirmed is not None)


def test_the_words() -> None:
    """What came back of what, as seconds and as a part."""
    assert outcome(0.94, 0.8, 1.1).sentence == (
        "confirmed by removal: 7.43 ms of 7.90 ms/step came back (94 %); put back: cache warmed"
    )
    assert outcome(-0.1, -0.2, 0.1).sentence.startswith("not confirmed: nothing of 7.90 ms/step came back;")
    assert outcome(1.09, 0.9, 1.2).sentence.startswith(
        "confirmed by removal: all of 7.90 ms/step came back (109 %);"
    )
    assert "95 % 5.0 % to 55 %" in outcome(0.3, 0.05, 0.55).sentence
    once = judged(replace(TRIAL, is_lasting=False), Recovery(9.0, 10.0, Interval(0.9, 0.8, 1.0)))
    assert "9.00 s of 10.0 s once came back" in once.sentence
    assert untested(NotTested("it has no workers")).sentence == "not tested by removal: it has no workers"


def test_time_that_came_back_is_explained() -> None:
    """What a rule without a cost gave back is no longer said to be without a cause; the rest of it is."""
    comparison = comparison_of(make_case(control(), resumed(0.02)))
    unknown = finding("DAT209", comparison.delta_s, 1.0)
    wrong = finding("DAT201", None)

    def left(share: float) -> list[str]:
        recovery = Recovery(
            share * comparison.delta_s, comparison.delta_s, Interval(share, share - 0.1, share + 0.1)
        )
        told = {"DAT201": judged(TRIAL, recovery)}
        return [f.code for f in with_confirmations([unknown, wrong], {"DAT201": wrong}, told, comparison)]

    assert left(0.97) == ["DAT201"]
    assert left(0.6) == ["DAT209", "DAT201"]
    assert left(0.0) == ["DAT209", "DAT201"]


def test_what_is_wrong_stays_wrong() -> None:
    """A rule that blames no time is not denied by time: it stays an error that the verdict names."""
    case = make_case(control(), resumed())
    wrong = finding("DAT201", None, confidence=Confidence.CONFIRMED)
    told = {"DAT201": outcome(0.0, -0.2, 0.2)}
    (after,) = with_confirmations([wrong], {"DAT201": wrong}, told, comparison_of(case))
    assert after.confirmation is not None
    assert (after.confirmation.confirmed, after.confirmation.sentence) == (None, told["DAT201"].sentence)
    assert (after.confidence, decide(case, [after]).cause) == (Confidence.CONFIRMED, "DAT201")


def test_confidence_follows_the_test() -> None:
    """It rises, falls, or stays where the test is open; findings that were not tested stay as they were."""
    comparison = comparison_of(make_case(control(), resumed()))
    tested = finding("DAT203", 0.008, 0.8, confidence=Confidence.SUPPORTED)
    at_start = finding("DAT203", 5.0)
    for told, confidence in (
        (outcome(0.9, 0.7, 1.1), Confidence.CONFIRMED),
        (outcome(0.0, -0.2, 0.2), Confidence.SUSPECTED),
        (outcome(0.4, 0.1, 0.7), Confidence.SUPPORTED),
        (untested(NotTested("no room")), Confidence.SUPPORTED),
    ):
        first, second = with_confirmations(
            [tested, at_start], {"DAT203": tested}, {"DAT203": told}, comparison
        )
        assert (first.confirmation, first.confidence) == (told, confidence)
        assert second == at_start


def test_a_suspect_that_no_rule_has_found() -> None:
    """Confirmed, it is a cause with what came back as its cost; denied, it is only mentioned."""
    comparison = comparison_of(make_case(control(), resumed(0.018, parts={"data_wait": 0.009})))
    (suspect,) = chosen([], NAMES, ("DAT203",))
    (found,) = with_confirmations([], {"DAT203": suspect}, {"DAT203": outcome(0.9, 0.7, 1.1)}, comparison)
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.CONFIRMED)
    assert found.delta_s == pytest.approx(0.9 * 0.0079)
    assert found.share_ratio == pytest.approx(found.delta_s / comparison.delta_s)
    (denied,) = with_confirmations([], {"DAT203": suspect}, {"DAT203": outcome(0.0, -0.1, 0.1)}, comparison)
    assert denied.severity is Severity.INFO
    at_start = outcome(0.9, 0.7, 1.1, replace(TRIAL, is_lasting=False))
    (once,) = with_confirmations([], {"DAT203": suspect}, {"DAT203": at_start}, comparison)
    assert (once.share_ratio, once.shape) == (None, Shape.ONE_TIME)


def slow_case() -> tuple[Case, tuple[Finding, ...]]:
    """A resumed run that reads from the disk and has a slower optimizer, and what the rules say of it."""
    after = resumed(
        0.018,
        parts={"data_wait": 0.007, "optimizer": 0.003},
        sampled={"physical_read_bytes": 10**6},
        values={"optimizer.0.group.0.foreach": False},
    )
    case = make_case(control(), after)
    return case, judge(case)[0]


def test_a_cause_that_was_taken_away_in_vain_is_none() -> None:
    """The next one comes first; where none is left, the run is slower for no cause that is established."""
    case, findings = slow_case()
    assert decide(case, findings).cause == "DAT203"
    denied = outcome(0.0, -0.1, 0.1)
    tested = {code: one(findings, code) for code in ("DAT203", "CMP306")}
    first = with_confirmations(
        findings, {"DAT203": tested["DAT203"]}, {"DAT203": denied}, comparison_of(case)
    )
    assert decide(case, first).cause == "CMP306"
    neither = with_confirmations(findings, tested, dict.fromkeys(tested, denied), comparison_of(case))
    answer = decide(case, neither)
    assert (answer.status, answer.side, answer.cause) == (Status.SLOWER, Side.NOT_ESTABLISHED, None)
    assert "the cause is not established: without cold page cache and optimizer slow path" in answer.sentence


def test_what_was_blamed_in_vain_is_unexplained() -> None:
    """The rules that are asked last get the time of a denied cause."""
    case, findings = slow_case()
    assert "DAT209" not in {f.code for f in findings}
    again, _ = judge(case, refuted=["DAT203"])
    assert one(again, "DAT209").delta_s == pytest.approx(one(findings, "DAT203").delta_s, rel=0.2)


def test_a_confirmed_cause_is_told_with_its_proof() -> None:
    """The verdict's sentence ends with what came back."""
    case, findings = slow_case()
    tested = one(findings, "DAT203")
    proved = with_confirmations(
        findings, {"DAT203": tested}, {"DAT203": outcome(0.94, 0.8, 1.1)}, comparison_of(case)
    )
    answer = decide(case, proved)
    assert answer.sentence.endswith(
        "; confirmed by removal: 7.43 ms of 7.90 ms/step came back (94 %); put back: cache warmed."
    )
    assert answer.confidence is Confidence.CONFIRMED
