"""CMP312: the loaded checkpoint is still in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Severity, Status
from ckpt_doctor.facts.run import RunRecord
from tests.builders import control, make_case, one, resumed
from tests.checks.compute.test_cmp311_memory_pressure import looked_at

RECORDED = Path(__file__).resolve().parents[3] / "fixtures" / "recordings" / "load_memory_kept"
MB = 10**6


def _fresh(**values: Any) -> RunRecord:
    return looked_at(
        control(), memory__rss_bytes=(900 * MB,) * 2, memory__heap_bytes=(300 * MB,) * 2, **values
    )


def _keeping(kept: int, heap: int, run: RunRecord | None = None, **values: Any) -> RunRecord:
    return looked_at(
        run or resumed(),
        memory__rss_bytes=(1200 * MB,) * 2,
        memory__heap_bytes=(heap,) * 2,
        memory__loaded_bytes=(300 * MB,) * 2,
        memory__kept_bytes=(kept, kept),
        memory__kept_device_bytes=(0, 0),
        **values,
    )


def test_a_kept_checkpoint_without_a_slowdown_is_a_warning() -> None:
    """A quarter of the process is a copy of what it trains; the run is as fast as before."""
    case = make_case(_fresh(), _keeping(300 * MB, 600 * MB))
    findings, _ = judge(case)
    found = one(findings, "CMP312")
    assert (found.severity, found.share_ratio) == (Severity.WARNING, None)
    assert "300 MB of the loaded checkpoint" in found.summary
    assert decide(case, findings).status is Status.SAME


def test_a_small_part_is_only_mentioned_and_less_than_that_is_nothing() -> None:
    """40 MB of 1.2 GB are worth a word, 4 MB are not."""
    assert one(judge(make_case(_fresh(), _keeping(40 * MB, 340 * MB)))[0], "CMP312").severity is Severity.INFO
    assert judge(make_case(_fresh(), _keeping(4 * MB, 304 * MB)))[0] == ()


def test_memory_that_was_freed_but_not_given_back_is_not_kept() -> None:
    """The process stays large after the load, but nothing of it is alive."""
    assert judge(make_case(_fresh(), _keeping(0, 300 * MB)))[0] == ()


def test_tensors_that_are_in_use_are_not_kept() -> None:
    """Loaded tensors that took the place of the model's own need no memory beyond the fresh run's."""
    assert judge(make_case(_fresh(), _keeping(300 * MB, 301 * MB)))[0] == ()


def test_under_pressure_the_kept_copy_is_the_cause() -> None:
    """What CMP311 would say has a reason, and is said once."""
    slow = resumed(
        0.018,
        parts={"data_wait": 0.009},
        sampled={"pressure_memory_s": 0.008, "physical_read_bytes": 500_000},
    )
    before = looked_at(control(), memory__heap_bytes=(300 * MB,) * 2)
    case = make_case(before, _keeping(300 * MB, 600 * MB, slow))
    findings, _ = judge(case)
    assert one(findings, "CMP312").severity is Severity.ERROR
    assert "CMP311" not in {f.code for f in findings}
    assert decide(case, findings).cause == "CMP312"


def test_memory_on_a_foreign_device_and_ranks_that_share_one_are_told() -> None:
    """Each rank has loaded to the first device, or trains there."""
    stray = looked_at(resumed(), memory__cuda_other_bytes=(80 * MB,) * 2, cuda__device=("GPU-1",) * 2)
    apart = looked_at(control(), memory__cuda_other_bytes=(0, 0), cuda__device=("GPU-1",) * 2)
    assert "not its own" in one(judge(make_case(apart, stray))[0], "CMP312").summary
    both = looked_at(resumed(), cuda__device=("GPU-1",) * 2)
    both = replace(both, ranks=(both.ranks[0], replace(both.ranks[0], rank=1)))
    found = one(judge(make_case(apart, both))[0], "CMP312")
    assert (found.severity, found.summary.partition(" share")[0]) == (Severity.WARNING, "2 ranks")


def test_a_recorded_run_that_keeps_what_it_loaded() -> None:
    """The optimizer goes on with the loaded moments, so only the weights are held twice: 33.6 of 101 MB."""
    report = doctor.compare(str(RECORDED / "before"), str(RECORDED / "after"), Policy())
    found = one(report.findings, "CMP312")
    assert (found.severity, found.share_ratio) == (Severity.INFO, None)
    assert "33.6 MB" in found.summary
    assert report.verdict.cause is None
