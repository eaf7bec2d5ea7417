"""CMP313: the gradient scaler began anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Confidence, Finding, Severity, Side, Status
from ckpt_doctor.facts.run import Event, Fingerprint, RunRecord
from tests.builders import SAVED_AT, control, event, make_case, one, resumed

FRESH = {"scaler.0.first_scale": 65536.0, "scaler.0.scale": 1024.0}


def _skips(*steps: int) -> list[Event]:
    return [event("scaler_skip", step, scale=65536.0 / 2**i) for i, step in enumerate(steps)]


def _found(before: RunRecord, after: RunRecord) -> list[Finding]:
    return [f for f in judge(make_case(before, after))[0] if f.code == "CMP313"]


def test_updates_that_only_the_resumed_run_skips_are_lost_training() -> None:
    """Six halvings from the default scale, which the control went through before its save."""
    before = control(values=FRESH, events=_skips(0, 1, 2, 3, 4, 5))
    case = make_case(before, resumed(values=FRESH, events=_skips(0, 1, 2, 3, 4, 5)))
    finding = one(judge(case)[0], "CMP313")
    assert (finding.severity, finding.side, finding.shape) == (Severity.ERROR, Side.COMPUTE, Shape.DECAYING)
    assert finding.confidence is Confidence.CONFIRMED
    assert "6 of the first 100 updates" in finding.summary
    assert finding.delta_s is None
    verdict = decide(case, judge(case)[0])
    assert (verdict.status, verdict.cause) == (Status.SAME, "CMP313")


def test_many_seconds_of_lost_updates_are_a_one_time_cost() -> None:
    """Six steps of half a second each."""
    case = make_case(
        control(0.5, values=FRESH, parts={"forward": 0.3}),
        resumed(0.5, values=FRESH, parts={"forward": 0.3}, events=_skips(*range(6))),
    )
    assert one(judge(case)[0], "CMP313").delta_s == pytest.approx(3.0, rel=0.1)
    assert "costs" in decide(case, judge(case)[0]).sentence


def test_a_scale_far_above_the_saved_one_is_a_new_scaler_too() -> None:
    """The control was resumed itself, so its first scale was a loaded one."""
    loaded = {"scaler.0.first_scale": 1024.0, "scaler.0.scale": 1024.0}
    found = _found(control(values=loaded), resumed(values=FRESH, events=_skips(*range(6))))
    assert found[0].confidence is Confidence.CONFIRMED


def test_where_the_scale_is_not_known_it_is_supported() -> None:
    """On a device the scale is not read; another first scale proves nothing by itself."""
    unread = {"scaler.0.first_scale": 65536.0, "scaler.0.scale": None}
    other = {"scaler.0.first_scale": 32768.0, "scaler.0.scale": None}
    found = _found(control(values=unread), resumed(values=other, events=_skips(*range(6))))
    assert found[0].confidence is Confidence.SUPPORTED


@pytest.mark.parametrize(
    "after",
    [
        resumed(values=FRESH, events=_skips(0, 40)),
        resumed(values=FRESH, events=_skips(*range(200))),
        resumed(values=FRESH, events=_skips(150, 151, 152, 153)),
        resumed(events=_skips(*range(6))),
    ],
    ids=["one now and then", "all along", "later on", "no scaler known"],
)
def test_other_skips_are_something_else(after: RunRecord) -> None:
    """The scale grows now and then; a loss that is not finite skips every update."""
    assert _found(control(values=FRESH), after) == []


def test_a_control_that_skips_as_often_since_its_save_is_no_difference() -> None:
    """Gradients that just begin to overflow do so with and without a resume."""
    since = _skips(*(SAVED_AT + i for i in range(6)))
    assert _found(control(values=FRESH, events=since), resumed(values=FRESH, events=_skips(*range(6)))) == []


def test_without_its_hook_it_is_not_evaluated() -> None:
    """No event means nothing where nothing listened."""
    before = control(values=FRESH, not_measured={"grad_scaler": "no torch.amp"})
    _, unknown = judge(make_case(before, resumed(values=FRESH)))
    assert "CMP313" in {rule.code for rule in unknown}


def test_the_control_s_scale_is_that_of_its_save() -> None:
    """A later fingerprint, in which the scale has grown, is not the saved one."""
    before = control(values=FRESH)
    (rank,) = before.ranks
    later = Fingerprint(SAVED_AT + 100, {**rank.fingerprints[0].values, "scaler.0.scale": 262144.0})
    grown = replace(before, ranks=(replace(rank, fingerprints=(*rank.fingerprints, later)),))
    found = _found(grown, resumed(values=FRESH, events=_skips(*range(6))))
    (scale,) = (e.value for e in found[0].evidence if "control's save" in e.what)
    assert scale == 1024.0
