"""CMP311: waiting for memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Case, Confidence
from ckpt_doctor.facts.run import Fingerprint, RunRecord
from tests.builders import VALUES, control, make_case, one, resumed

RECORDED = Path(__file__).resolve().parents[3] / "fixtures" / "recordings" / "memory_pressure"
SLOW: dict[str, Any] = {"parts": {"data_wait": 0.009}}


def looked_at(run: RunRecord, **values: tuple[object, object]) -> RunRecord:
    """A run whose process was looked at at its start and at its end; ``__`` stands for a dot."""
    rank = run.ranks[0]
    named = {name.replace("__", "."): pair for name, pair in values.items()}
    prints = [
        Fingerprint(step, {**VALUES, **{name: pair[place] for name, pair in named.items()}})
        for place, step in enumerate((3, len(rank.steps)))
    ]
    return replace(run, ranks=(replace(rank, fingerprints=tuple(prints)),))


def untold(run: RunRecord) -> RunRecord:
    """The same run on a machine whose kernel tells nothing of pressure."""
    return replace(run, host=tuple(replace(sample, pressure_memory_s=None) for sample in run.host))


def test_time_in_which_this_run_waits_for_memory_is_the_cause() -> None:
    """8 ms of a slowdown are waiting for memory, and the run reads more: no cold cache, no limit needed."""
    thrash = {"pressure_memory_s": 0.008, "physical_read_bytes": 500_000, "refaults": 120}
    case = make_case(control(), resumed(0.018, sampled=thrash, **SLOW))
    findings, _ = judge(case)
    found = one(findings, "CMP311")
    assert (found.confidence, decide(case, findings).cause) == (Confidence.CONFIRMED, "CMP311")
    assert found.share_ratio == pytest.approx(1.0, abs=0.1)
    assert "DAT203" not in {f.code for f in findings}


def test_reads_of_pages_that_were_never_cached_are_no_pressure() -> None:
    """A cold cache waits for the disk, not for memory."""
    cold = {"pressure_memory_s": 0.0, "physical_read_bytes": 500_000}
    findings, _ = judge(make_case(control(), resumed(0.018, sampled=cold, **SLOW)))
    assert [f.code for f in findings] == ["DAT203"]


def test_a_neighbour_that_waits_for_memory_is_not_this_run() -> None:
    """The kernel counts for all: without reads, swap or a limit of its own this run is not said to wait."""
    waiting = {"pressure_memory_s": 0.008}
    after = resumed(0.018, parts={"backward": 0.012}, counters={"user_s": 0.017}, sampled=waiting)
    findings, _ = judge(make_case(control(), after))
    assert [f.code for f in findings] == ["CMP319"]


def test_half_of_a_slowdown_leaves_the_other_half_to_its_own_cause() -> None:
    """4 ms of waiting for memory and 4 ms of a slower optimizer."""
    after = resumed(
        0.018,
        parts={"data_wait": 0.005, "optimizer": 0.005},
        sampled={"pressure_memory_s": 0.004, "physical_read_bytes": 500_000},
        values={"optimizer.0.group.0.foreach": False},
    )
    findings, _ = judge(make_case(control(), after))
    assert one(findings, "CMP311").share_ratio == pytest.approx(0.5, abs=0.1)
    assert one(findings, "CMP306").share_ratio == pytest.approx(0.5, abs=0.1)


def test_the_limit_that_is_hit_is_named() -> None:
    """A container with less memory than before."""
    waiting = {"pressure_memory_s": 0.008}
    after = looked_at(
        resumed(0.018, sampled=waiting, **SLOW),
        memory__limit_hits=(0, 5000),
        machine__memory_limit_bytes=(10**9, 10**9),
    )
    found = one(judge(make_case(control(), after))[0], "CMP311")
    assert "limit of 1.00 GB" in found.summary


def test_swap_stands_in_where_the_kernel_tells_nothing_else() -> None:
    """Pages that come back from swap, and steps that are longer without CPU time."""
    swapping = {"swap_ins": 40}
    findings, _ = judge(
        make_case(untold(control(sampled={"swap_ins": 0})), untold(resumed(0.018, sampled=swapping, **SLOW)))
    )
    assert one(findings, "CMP311").confidence is Confidence.SUPPORTED


def test_a_cuda_allocator_that_empties_its_cache_is_pressure_on_the_device() -> None:
    """Every other step gives memory back to the driver; the host waits in forward."""
    before = looked_at(control(), memory__cuda_alloc_retries=(0, 0))
    after = looked_at(resumed(0.018, parts={"forward": 0.011}), memory__cuda_alloc_retries=(1, 101))
    found = one(judge(make_case(before, after))[0], "CMP311")
    assert "0.508 times per step" in found.summary
    assert found.share_ratio == pytest.approx(1.0, abs=0.1)


def test_pressure_without_a_slowdown_is_nothing() -> None:
    """The counter moved, no step is longer."""
    thrash = {"pressure_memory_s": 0.002, "physical_read_bytes": 500_000}
    assert judge(make_case(control(), resumed(sampled=thrash)))[0] == ()


def test_without_any_of_its_counters_it_is_not_evaluated() -> None:
    """A kernel that tells nothing is not a machine with memory to spare."""
    case: Case = make_case(untold(control()), untold(resumed(0.018)))
    assert "CMP311" in {rule.code for rule in judge(case)[1]}


def test_a_recorded_run_in_a_container_that_its_data_do_not_fit_into() -> None:
    """Real pressure: pages that are thrown out at the limit are read again, and no cold cache is blamed."""
    report = doctor.compare(str(RECORDED / "before"), str(RECORDED / "after"), Policy())
    assert report.verdict.cause == "CMP311"
    found = one(report.findings, "CMP311")
    assert found.confidence is Confidence.CONFIRMED
    assert found.share_ratio == pytest.approx(1.0, abs=0.05)
    assert "limit of 67.1 MB" in found.summary
    assert "DAT203" not in {f.code for f in report.findings}
