"""CMP308: more parameters are trained."""

from __future__ import annotations

from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Severity
from tests.builders import control, make_case, one, resumed

FROZEN = {
    "modules.elements": 1000,
    "modules.trainable_elements": 100,
    "modules.gradient_elements": 100,
    "modules.gradient_layouts": "strided:2",
    "modules.optimized_parameters": 2,
    "modules.optimized_elements": 100,
    "modules.optimized_bytes": 400,
    "model.trainable_elements": 100,
    "optimizer.0.parameters": 2,
    "optimizer.0.state_entries": 2,
    "optimizer.0.state_bytes": 800,
}
THAWED = {
    **FROZEN,
    "modules.trainable_elements": 1000,
    "modules.gradient_elements": 1000,
    "modules.gradient_layouts": "strided:20",
    "modules.optimized_parameters": 20,
    "modules.optimized_elements": 1000,
    "modules.optimized_bytes": 4000,
    "model.trainable_elements": 1000,
    "optimizer.0.state_entries": 20,
    "optimizer.0.state_bytes": 8000,
}
SLOWER = {"backward": 0.010, "optimizer": 0.003}


def _codes(before: dict[str, Any], after: dict[str, Any], **changes: Any) -> list[str]:
    changes = {"parts": SLOWER, **changes}
    return [
        f.code for f in judge(make_case(control(values=before), resumed(0.018, values=after, **changes)))[0]
    ]


def test_a_base_that_was_not_frozen_again_is_named_before_the_state_that_follows_it() -> None:
    """Ten times the gradients: the larger optimizer state is their consequence, and no cause of its own."""
    findings, _ = judge(make_case(control(values=FROZEN), resumed(0.018, parts=SLOWER, values=THAWED)))
    assert [f.code for f in findings] == ["CMP308"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert "100 -> 1000 elements with gradients" in findings[0].summary


def test_frozen_parameters_that_get_gradients_outside_the_optimizer() -> None:
    """Backward reaches them though no optimizer holds them."""
    after = {**FROZEN, "modules.trainable_elements": 1000, "modules.gradient_elements": 1000}
    assert _codes(FROZEN, after, parts={"backward": 0.012}) == ["CMP308"]


def test_dense_gradients_where_they_were_sparse() -> None:
    """All rows of a table are trained instead of those of the batch."""
    sparse = {**FROZEN, "modules.gradient_layouts": "sparse_coo:1,strided:1"}
    dense = {**sparse, "modules.gradient_elements": 1000, "modules.gradient_layouts": "strided:2"}
    findings, _ = judge(make_case(control(values=sparse), resumed(0.018, parts=SLOWER, values=dense)))
    assert [f.code for f in findings] == ["CMP308"]
    assert any("sparse_coo" in str(e.value) for e in findings[0].evidence)


def test_a_group_of_parameters_that_had_none_is_no_bloated_state() -> None:
    """They had gradients before; now they are updated too."""
    given = {
        name: value
        for name, value in THAWED.items()
        if name not in ("modules.trainable_elements", "modules.gradient_elements")
    }
    after = {**FROZEN, **given, "modules.trainable_elements": 100, "modules.gradient_elements": 100}
    assert _codes(FROZEN, after, parts={"optimizer": 0.009}) == ["CMP308"]


def test_groups_listed_twice_are_not_more_of_the_model() -> None:
    """The optimizer's list doubled, the model's gradients did not: CMP305."""
    after = {**FROZEN, "model.trainable_elements": 200, "optimizer.0.parameters": 4}
    assert _codes(FROZEN, after, parts={"optimizer": 0.009}) == ["CMP305"]


def test_a_state_that_grew_beyond_its_parameters_is_still_bloated() -> None:
    """Twice the parameters with eight times the bytes are two findings."""
    after = {**FROZEN, "modules.gradient_elements": 200, "modules.optimized_elements": 200}
    after = {**after, "modules.optimized_bytes": 800, "optimizer.0.state_bytes": 6400}
    assert _codes(FROZEN, after) == ["CMP305", "CMP308"]


def test_where_modules_are_unknown_backward_has_to_have_grown() -> None:
    """What the optimizers hold may be dead; a backward that takes longer reaches it."""
    before, after = {"model.trainable_elements": 100}, {"model.trainable_elements": 1000}
    assert _codes(before, after, parts={"backward": 0.012}) == ["CMP308"]
    assert _codes(before, after, parts={"optimizer": 0.009}) == ["CMP319"]


def test_more_passes_are_counted_first() -> None:
    """Twice the passes explain twice the time, and thawed layers what is left of it."""
    twice = {"backwards": 2, "batches": 2, "elements": 2000}
    parts = {"data_wait": 0.002, "forward": 0.006, "backward": 0.022}
    case = make_case(control(values=FROZEN), resumed(0.032, parts=parts, values=THAWED, counters=twice))
    findings, _ = judge(case)
    work, trained = one(findings, "WRK501"), one(findings, "CMP308")
    assert (work.share_ratio or 0) + (trained.share_ratio or 0) == pytest.approx(1.0, abs=0.1)
    assert trained.delta_s == pytest.approx(0.013, abs=0.002)
    assert decide(case, findings).cause == "CMP308"


def test_more_gradients_at_the_same_speed_are_only_mentioned() -> None:
    """Nothing is slower, or only what they cannot slow down."""
    for after in (resumed(values=THAWED), resumed(0.018, parts={"forward": 0.011}, values=THAWED)):
        finding = one(judge(make_case(control(values=FROZEN), after))[0], "CMP308")
        assert (finding.severity, finding.share_ratio) == (Severity.INFO, None)
