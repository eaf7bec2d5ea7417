"""CMP310: something for debugging is on in the resumed run alone."""

from __future__ import annotations

from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Confidence, Finding, Location, Severity
from tests.builders import COUNTERS, PARTS, VALUES, control, make_case, make_run, noisy, one, resumed

SLOWER = {"forward": 0.007, "backward": 0.008}
OFF = {
    "autograd.anomaly": False,
    "autograd.profiler": False,
    "backend.deterministic": False,
    "backend.cudnn_benchmark": True,
    "python.tracing": "",
    "modules.hooks": 12,
}


def _judged(after: dict[str, Any], parts: dict[str, float] = SLOWER, **before: Any) -> tuple[Finding, ...]:
    case = make_case(control(**{"values": OFF, **before}), resumed(0.018, parts=parts, **after))
    return judge(case)[0]


@pytest.mark.parametrize("name", ["anomaly_backwards", "profiled_backwards"])
def test_passes_under_a_debug_mode_are_confirmed(name: str) -> None:
    """One in each step, none in the control, and 8 ms more in forward and backward."""
    findings = _judged({"counters": {name: 1}, "values": OFF})
    assert [f.code for f in findings] == ["CMP310"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert f"{name.replace('_', ' ')} per step 0 -> 1" in findings[0].summary


@pytest.mark.parametrize(
    ("key", "value", "confidence"),
    [
        ("autograd.anomaly", True, Confidence.CONFIRMED),
        ("python.tracing", "trace", Confidence.CONFIRMED),
        ("modules.hooks", 24, Confidence.CONFIRMED),
        ("modules.hooks", 13, Confidence.SUPPORTED),
        ("backend.deterministic", True, Confidence.SUPPORTED),
        ("backend.cudnn_benchmark", False, Confidence.SUPPORTED),
        ("env.CUDA_LAUNCH_BLOCKING", "1", Confidence.CONFIRMED),
    ],
)
def test_a_setting_that_only_the_resumed_run_has(key: str, value: object, confidence: Confidence) -> None:
    """Confirmed where it always costs time, supported where it depends on the model."""
    findings = _judged({"values": {**OFF, key: value}})
    assert [f.code for f in findings] == ["CMP310"]
    assert findings[0].confidence is confidence


def test_the_line_that_grew_is_told() -> None:
    """A hook that runs twice as often shows in the stacks."""
    lines = {("train.py", 3): 0.002, ("train.py", 77): 0.008}
    findings = _judged(
        {"values": {**OFF, "modules.hooks": 24}, "lines": lines}, lines={("train.py", 3): 0.002}
    )
    assert one(findings, "CMP310").location == Location("train.py", 77)


def test_what_was_on_before_is_not_the_resume_s_doing() -> None:
    """Both sides are profiled, or the control alone has hooks, and something else is slower."""
    both = {"counters": {"profiled_backwards": 1}, "values": OFF}
    assert [f.code for f in _judged(both, **both)] == ["CMP319"]
    assert [f.code for f in _judged({"values": {**OFF, "modules.hooks": 0}})] == ["CMP319"]


def test_a_graph_that_is_kept_and_grows_is_the_cause_of_steps_that_grow() -> None:
    """A carried state that is not detached: backward goes further back with each step."""
    times = [t + 0.0001 * i for i, t in enumerate(noisy(0.01, 200, seed=3))]
    after = make_run(
        times,
        arm="after",
        parts={**PARTS, "backward": [0.004 + 0.0001 * i for i in range(200)]},
        counters={**COUNTERS, "retained_backwards": 1},
        values={**VALUES, **OFF},
        turn_steps=20,
    )
    case = make_case(control(values=OFF), after)
    findings, _ = judge(case)
    assert decide(case, findings).cause == "CMP310"
    assert one(findings, "CMP310").shape is Shape.GROWING
    assert "WRK502" not in {f.code for f in findings}


def test_without_a_slower_model_it_is_only_mentioned() -> None:
    """The steps are as fast as before, or only data wait grew."""
    on = {"counters": {"anomaly_backwards": 1}, "values": OFF}
    waiting = resumed(0.018, parts={"data_wait": 0.009}, **on)
    for after in (resumed(**on), waiting):
        finding = one(judge(make_case(control(values=OFF), after))[0], "CMP310")
        assert (finding.severity, finding.share_ratio) == (Severity.INFO, None)


def test_a_cause_that_is_measured_goes_first() -> None:
    """Checkpoints explain 6 of the 8 ms by the clock; deterministic algorithms get what is left."""
    after = {
        "counters": {"activation_checkpoints": 4, "recompute_s": 0.006},
        "values": {**OFF, "backend.deterministic": True},
    }
    findings = _judged(after, parts={"backward": 0.012})
    assert [f.code for f in findings] == ["CMP315", "CMP310"]
    assert one(findings, "CMP315").share_ratio == pytest.approx(0.75, abs=0.05)
    assert one(findings, "CMP310").share_ratio == pytest.approx(0.25, abs=0.05)
