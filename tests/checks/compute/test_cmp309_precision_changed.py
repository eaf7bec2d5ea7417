"""CMP309: another number or memory format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Confidence, Finding, Severity
from tests.builders import control, make_case, one, resumed

SLOWER = {"forward": 0.007, "backward": 0.008}
HALF = {"model.dtypes": "bfloat16:900,float32:100", "modules.dtypes": "bfloat16:900,float32:100"}


def _judged(
    before: dict[str, Any], after: dict[str, Any], parts: dict[str, float] = SLOWER
) -> tuple[Finding, ...]:
    return judge(make_case(control(**before), resumed(0.018, parts=parts, **after)))[0]


def test_mixed_precision_that_is_not_entered_any_more_is_confirmed() -> None:
    """One bfloat16 region a step before, none after, and 8 ms more in forward and backward."""
    findings = _judged({"counters": {"autocast_bfloat16": 1}}, {})
    assert [f.code for f in findings] == ["CMP309"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    assert "autocast bfloat16 regions per step 1 -> 0" in findings[0].summary


def test_the_other_direction_and_another_type_count_too() -> None:
    """Without instructions for it, half precision is the slower one."""
    assert one(_judged({}, {"counters": {"autocast_bfloat16": 1}}), "CMP309").share_ratio
    swapped = ({"counters": {"autocast_bfloat16": 1}}, {"counters": {"autocast_float16": 1}})
    assert one(_judged(*swapped), "CMP309").severity is Severity.ERROR


def test_more_passes_bring_more_regions_and_no_other_precision() -> None:
    """Four micro-batches instead of two enter four regions, and one region around all of them stays one."""
    for before, after in ((2, 4), (1, 1)):
        twice = {"counters": {"autocast_bfloat16": before, "backwards": 2, "elements": 2000}}
        four = {"counters": {"autocast_bfloat16": after, "backwards": 4, "elements": 4000}}
        assert [f.code for f in _judged(twice, four)] == ["WRK501"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (HALF, {"model.dtypes": "float32:1000", "modules.dtypes": "float32:1000"}),
        ({"modules.dtypes": "bfloat16:9000,float32:10"}, {"modules.dtypes": "float32:9010"}),
        ({"model.dtypes": "float32:10"}, {"model.dtypes": "float64:10"}),
        ({"default_dtype": "float32"}, {"default_dtype": "float64"}),
    ],
    ids=["trained", "a frozen base", "float64", "default"],
)
def test_parameters_of_another_type(before: dict[str, object], after: dict[str, object]) -> None:
    """The type of most elements changed."""
    findings = _judged({"values": before}, {"values": after})
    assert [f.code for f in findings] == ["CMP309"]
    assert findings[0].confidence is Confidence.CONFIRMED


def test_a_state_that_is_wider_because_its_parameters_are_is_named_by_them() -> None:
    """float64 parameters bring float64 moments along; the optimizer's time is theirs as well."""
    narrow = {
        "modules.elements": 250,
        "modules.optimized_bytes": 1000,
        "model.dtypes": "float32:250",
        "optimizer.0.state_bytes": 2000,
    }
    wide = {
        "modules.elements": 250,
        "modules.optimized_bytes": 2000,
        "model.dtypes": "float64:250",
        "optimizer.0.state_bytes": 4000,
        "optimizer.0.state_dtypes": "float64:4000",
    }
    parts = {"forward": 0.005, "backward": 0.006, "optimizer": 0.005}
    findings = _judged({"values": narrow}, {"values": wide}, parts)
    assert [f.code for f in findings] == ["CMP309"]
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("backend.matmul_precision", "high", "highest"),
        ("backend.mkldnn_matmul_precision", "bf16", "none"),
        ("backend.cudnn_allow_tf32", True, False),
        ("modules.channels_last", 12, 0),
    ],
)
def test_a_switch_alone_is_supported_and_only_in_its_slower_direction(
    key: str, before: object, after: object
) -> None:
    """It matters for some kernels only, and cannot slow anything down the other way."""
    findings = _judged({"values": {key: before}}, {"values": {key: after}})
    assert one(findings, "CMP309").confidence is Confidence.SUPPORTED
    assert [f.code for f in _judged({"values": {key: after}}, {"values": {key: before}})] == ["CMP319"]


def test_a_few_more_parameters_of_another_type_are_no_change_of_precision() -> None:
    """A head in float32 beside a base in bfloat16."""
    more = {"model.dtypes": "bfloat16:900,float32:200", "modules.dtypes": "bfloat16:900,float32:200"}
    assert [f.code for f in _judged({"values": HALF}, {"values": more})] == ["CMP319"]


def test_without_a_slower_model_it_is_only_mentioned() -> None:
    """The steps are as fast as before, or only data wait grew."""
    before = control(counters={"autocast_bfloat16": 1})
    for after in (resumed(), resumed(0.018, parts={"data_wait": 0.009})):
        finding = one(judge(make_case(before, after))[0], "CMP309")
        assert (finding.severity, finding.share_ratio) == (Severity.INFO, None)


def test_a_recording_without_the_counter_says_nothing_about_it() -> None:
    """An older recording has no regions, which is not the same as none."""
    before = control()
    (rank,) = before.ranks
    told = {n: c for n, c in rank.steps.counters.items() if not n.startswith("autocast")}
    old = replace(before, ranks=(replace(rank, steps=replace(rank.steps, counters=told)),))
    findings, unknown = judge(make_case(old, resumed(0.018, parts=SLOWER, counters={"autocast_bfloat16": 1})))
    assert [f.code for f in findings] == ["CMP319"]
    assert "CMP309" in {rule.code for rule in unknown}
