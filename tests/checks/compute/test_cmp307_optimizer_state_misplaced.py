"""CMP307: the optimizer's state on another device."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Confidence, Severity
from tests.builders import control, make_case, one, resumed

RECORDED = Path(__file__).resolve().parents[3] / "fixtures" / "recordings" / "state_misplaced"
ON_DEVICE = {
    "optimizer.0.state_devices": "cuda:1000",
    "optimizer.0.step_devices": "cpu:4",
    "optimizer.0.state_elsewhere_bytes": 0,
    "optimizer.0.state_pinned_bytes": 0,
}
SLOWER = {"optimizer": 0.009}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"optimizer.0.step_devices": "cuda:4"}),
        ({}, {"optimizer.0.state_devices": "cpu:1000", "optimizer.0.state_elsewhere_bytes": 1000}),
        ({}, {"optimizer.0.state_devices": "cpu:500,cuda:500", "optimizer.0.state_elsewhere_bytes": 500}),
        ({"optimizer.0.state_pinned_bytes": 1000}, {"optimizer.0.state_pinned_bytes": 0}),
    ],
    ids=["step on the GPU", "moments on the CPU", "half of them", "no longer pinned"],
)
def test_state_elsewhere_with_a_slower_optimizer_is_confirmed(
    before: dict[str, object], after: dict[str, object]
) -> None:
    """Another device, and 8 ms more in the optimizer."""
    case = make_case(
        control(values={**ON_DEVICE, **before}),
        resumed(0.018, parts=SLOWER, values={**ON_DEVICE, **after}),
    )
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["CMP307"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)


def test_another_device_alone_is_only_mentioned() -> None:
    """Nothing is slower, or only forward is."""
    moved = {**ON_DEVICE, "optimizer.0.step_devices": "cuda:4"}
    for after in (resumed(values=moved), resumed(0.018, parts={"forward": 0.011}, values=moved)):
        findings, _ = judge(make_case(control(values=ON_DEVICE), after))
        finding = one(findings, "CMP307")
        assert (finding.severity, finding.share_ratio) == (Severity.INFO, None)


def test_more_state_in_the_same_place_is_something_else() -> None:
    """Sizes are CMP305's affair; so is a state that was empty in the control's fingerprint."""
    larger = {**ON_DEVICE, "optimizer.0.state_devices": "cuda:2000", "optimizer.0.state_bytes": 2000}
    none_yet = {**ON_DEVICE, "optimizer.0.state_devices": "", "optimizer.0.step_devices": ""}
    for before, after in ((ON_DEVICE, larger), (none_yet, ON_DEVICE)):
        case = make_case(control(values=before), resumed(0.018, parts=SLOWER, values=after))
        assert "CMP307" not in {f.code for f in judge(case)[0]}


def test_a_recorded_run_whose_moments_came_back_elsewhere() -> None:
    """The real hooks on a real optimizer, over a stand-in for the device, give the verdict."""
    report = doctor.compare(str(RECORDED / "before"), str(RECORDED / "after"), Policy())
    assert report.verdict.cause == "CMP307"
    assert any("state_devices" in str(e.what) for e in one(report.findings, "CMP307").evidence)
