"""DAT201: the data order was not restored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.data import dat201_data_order_not_restored as rule
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Found, Severity, Side, Status
from ckpt_doctor.facts.run import Event
from tests.builders import SAVED_AT, control, event, make_case, resumed


def _find(digests: list[str], **changes: Any) -> Found | CannotTell | None:
    return rule.find_rest(make_case(control(**changes), resumed(digests=digests, **changes)), ())


def test_data_that_begin_anew_are_an_error_at_full_speed() -> None:
    """The run is as fast as before, wrong all the same, and the verdict names the cause."""
    case = make_case(control(), resumed(digests=[str(i) for i in range(200)]))
    findings, _ = judge(case)
    verdict = decide(case, findings)
    assert [f.code for f in findings] == ["DAT201"]
    assert findings[0].severity is Severity.ERROR
    assert "began its data anew" in findings[0].summary
    assert (verdict.status, verdict.side, verdict.cause) == (Status.SAME, Side.DATA, "DAT201")


def test_the_control_s_order_is_no_finding() -> None:
    """Equal data at equal relative steps."""
    assert rule.find_rest(make_case(control(), resumed()), ()) is None


def test_another_shuffle_is_an_error_by_indices_and_a_doubt_by_batches() -> None:
    """Augmentation changes a batch's elements, but never the indices."""
    other = [f"x{i}" for i in range(200)]
    by_index, by_batch = _find(other), _find(other, digest_source="batches")
    assert isinstance(by_index, Found)
    assert isinstance(by_batch, Found)
    assert by_index.severity is Severity.ERROR
    assert (by_batch.severity, by_batch.confidence) == (Severity.WARNING, Confidence.SUSPECTED)


def test_a_shift_by_one_step_is_a_warning_and_by_four_an_error() -> None:
    """One step can be the script's way of counting; four are data skipped."""
    one, four = (_find([str(i + SAVED_AT + shift) for i in range(150)]) for shift in (1, 4))
    assert isinstance(one, Found)
    assert isinstance(four, Found)
    assert (one.severity, four.severity) == (Severity.WARNING, Severity.ERROR)
    assert "4 steps ahead of" in four.summary


@pytest.mark.parametrize("saves", [(), (event("save", SAVED_AT, 0.01, beside=True),)])
def test_a_save_whose_step_is_not_known_fixes_no_place(saves: tuple[Event, ...]) -> None:
    """Where a thread saved, or only the file was seen, other data are no finding, but data begun anew are."""
    before = control()
    (rank,) = before.ranks
    before = replace(before, ranks=(replace(rank, events=saves),))

    def found(digests: list[str]) -> Found | CannotTell | None:
        return rule.find_rest(make_case(before, resumed(digests=digests)), ())

    assert isinstance(found([str(i + SAVED_AT - 4) for i in range(150)]), CannotTell)
    assert isinstance(found([f"x{i}" for i in range(150)]), CannotTell)
    assert isinstance(found([str(i) for i in range(150)]), Found)
    assert found([str(i + SAVED_AT) for i in range(150)]) is None


@pytest.mark.parametrize("told", [True, False])
def test_larger_batches_have_no_order_to_compare(told: bool) -> None:
    """Where the loader was given a larger batch size, other data are no second fault; by chance they are."""
    after = resumed(
        0.025,
        digests=[f"x{i}" for i in range(200)],
        parts={"forward": 0.01, "backward": 0.012},
        counters={"samples": 128, "elements": 4000},
        values={"loader.0.batch_size": 128 if told else 32},
    )
    findings, unknown = judge(make_case(control(values={"loader.0.batch_size": 32}), after))
    assert ("DAT201" in [finding.code for finding in findings]) is not told
    why = [each.why for each in unknown if each.code == "DAT201"]
    assert [each.startswith("batches of 128 samples are not those of 32") for each in why] == [True] * told


def test_without_digests_the_order_is_not_judged() -> None:
    """Unknown is neither restored nor lost."""
    assert isinstance(rule.find_rest(make_case(control(digests=None), resumed(digests=None)), ()), CannotTell)


def test_a_case_without_runs_is_not_its_question() -> None:
    """A checkpoint alone has no order of data."""
    assert rule.find_rest(Case(), ()) is None
