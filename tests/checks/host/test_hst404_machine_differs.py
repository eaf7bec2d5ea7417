"""HST404: another machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Severity, Side
from ckpt_doctor.facts.run import RunRecord
from tests.builders import control, make_case, one, resumed

APART: dict[str, Any] = {"turn_steps": None}
OLD = {"machine.cpu": "Fast 9000", "versions.torch": "2.5.0", "data.filesystem": "ext4"}


def _elsewhere(run: RunRecord) -> RunRecord:
    return replace(run, meta=replace(run.meta, host="there"))


def test_a_slower_run_on_another_processor_is_the_machine_s() -> None:
    """Everything takes half as long again, one run after the other, on two machines."""
    after = resumed(
        0.016,
        parts={"forward": 0.006, "backward": 0.007},
        counters={"user_s": 0.015},
        values={**OLD, "machine.cpu": "Slow 100"},
        **APART,
    )
    case = make_case(control(values=OLD, **APART), _elsewhere(after))
    findings, _ = judge(case)
    found = one(findings, "HST404")
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.SUSPECTED)
    assert found.share_ratio == pytest.approx(1.0, abs=0.05)
    assert "Fast 9000 -> Slow 100" in found.summary
    assert [f.code for f in findings] == ["HST404"]
    assert decide(case, findings).side is Side.HOST


def test_what_another_cause_proves_is_not_the_machine_s() -> None:
    """A slower optimizer path explains the step on either machine."""
    after = resumed(
        0.018,
        parts={"optimizer": 0.009},
        values={**OLD, "machine.cpu": "Slow 100", "optimizer.0.group.0.foreach": False},
        **APART,
    )
    findings, _ = judge(make_case(control(values=OLD, **APART), after))
    assert one(findings, "CMP306").severity is Severity.ERROR
    assert one(findings, "HST404").severity is Severity.INFO


def test_another_version_at_the_same_speed_is_only_mentioned() -> None:
    """It made no difference."""
    findings, _ = judge(make_case(control(values=OLD), resumed(values={**OLD, "versions.torch": "2.6.0"})))
    assert [(f.code, f.severity) for f in findings] == [("HST404", Severity.INFO)]


def test_data_that_moved_to_a_network_file_system_are_told() -> None:
    """A further file system is no move; other ones altogether are."""
    moved = judge(make_case(control(values=OLD), resumed(values={**OLD, "data.filesystem": "nfs4"})))[0]
    assert "ext4 -> nfs4" in one(moved, "HST404").summary
    more = judge(make_case(control(values=OLD), resumed(values={**OLD, "data.filesystem": "ext4,tmpfs"})))[0]
    assert more == ()


def test_another_host_of_the_same_kind_is_mentioned() -> None:
    """The next node of a cluster."""
    found = one(judge(make_case(control(values=OLD), _elsewhere(resumed(values=OLD))))[0], "HST404")
    assert (found.severity, "same kind" in found.summary) == (Severity.INFO, True)
