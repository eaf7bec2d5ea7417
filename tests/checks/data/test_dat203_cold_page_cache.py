"""DAT203: data come from the disk and not from memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.report import Confidence, Location, Side, Status
from ckpt_doctor.facts.run import RunRecord
from tests.builders import control, event, make_case, one, resumed

COLD = {"physical_read_bytes": 500_000}


def alone(run: RunRecord) -> RunRecord:
    """A run that took no turns with another one."""
    return replace(run, turns=())


def test_waiting_and_reading_more_is_confirmed() -> None:
    """8 ms more data wait and 500 kB from the disk per step are a cold cache, with its share."""
    case = make_case(control(), resumed(0.018, parts={"data_wait": 0.009}, sampled=COLD))
    findings, _ = judge(case)
    assert [f.code for f in findings] == ["DAT203"]
    assert findings[0].confidence is Confidence.CONFIRMED
    assert findings[0].share_ratio == pytest.approx(1.0, abs=0.05)
    verdict = decide(case, findings)
    assert (verdict.status, verdict.side, verdict.cause) == (Status.SLOWER, Side.DATA, "DAT203")
    assert "cold page cache" in verdict.sentence


def test_pages_that_had_been_in_memory_are_dropped() -> None:
    """The control found the same data in memory: warming the cache does not help against what drops them."""
    before, after = control(), resumed(0.018, parts={"data_wait": 0.009}, sampled=COLD)
    found = one(judge(make_case(before, after))[0], "DAT203")
    assert "POSIX_FADV_DONTNEED" in found.remedy
    assert "had been in memory" in found.summary
    cleared = replace(after, meta=replace(after.meta, options={"cold_cache": True}))
    other = resumed(0.018, parts={"data_wait": 0.009}, sampled=COLD, digests=[f"x{i}" for i in range(200)])
    for warmed in (
        make_case(before, cleared),
        make_case(before, other),
        make_case(alone(before), alone(after)),
    ):
        found = one(judge(warmed)[0], "DAT203")
        assert "vmtouch" in found.remedy
        assert "had been in memory" not in found.summary


def test_pages_that_the_kernel_threw_out_had_been_in_memory() -> None:
    """Refaults tell it of two recordings that have nothing to do with each other."""
    sampled = {**COLD, "refaults": 100}
    after = alone(resumed(0.018, parts={"data_wait": 0.009}, sampled=sampled))
    found = one(judge(make_case(alone(control(sampled={"refaults": 0})), after))[0], "DAT203")
    assert "memory limit" in found.remedy


def test_the_line_that_reads_is_the_place() -> None:
    """The stacks show which line reads, unless that happens in workers."""
    lines = {("dataset.py", 54): 0.008, ("train.py", 9): 0.006}
    slower = {"parts": {"data_wait": 0.009}, "sampled": COLD, "lines": lines}
    before = control(lines={("train.py", 9): 0.006})
    found = one(judge(make_case(before, resumed(0.018, **slower)))[0], "DAT203")
    assert found.location == Location("dataset.py", 54)
    workers = resumed(0.018, events=[event("worker_start", 0, 0.1)], **slower)
    assert one(judge(make_case(before, workers))[0], "DAT203").location is None


def test_reads_without_waiting_are_not_blamed() -> None:
    """Workers that read ahead hide a cold cache: nothing is slower, so nothing is found."""
    findings, _ = judge(make_case(control(), resumed(sampled=COLD)))
    assert findings == ()


def test_reads_beside_a_slower_backward_are_not_blamed() -> None:
    """The counter moved, its part did not: the slowdown stays unexplained, on the compute side."""
    slower = resumed(0.018, parts={"backward": 0.012}, counters={"user_s": 0.017}, sampled=COLD)
    findings, _ = judge(make_case(control(), slower))
    assert [f.code for f in findings] == ["CMP319"]


def test_memory_mapped_data_of_a_script_without_a_loader_are_seen_by_faults() -> None:
    """Major faults and a longer rest of the step, without any read call, are a cold cache too."""
    plain = {"batches": 0, "samples": 0, "elements": 0}
    nothing = {"data_wait": 0.0}
    after = resumed(0.018, counters=plain, parts=nothing, sampled={"major_faults": 30})
    findings, _ = judge(make_case(control(counters=plain, parts=nothing), after))
    assert [f.code for f in findings] == ["DAT203"]


def test_worker_restarts_are_taken_off() -> None:
    """Two causes on the data side are two findings whose shares add up to one."""
    starts = [
        e for i in range(20, 200, 20) for e in (event("worker_start", i, 0.06), event("first_batch", i, 0.02))
    ]
    after = resumed(0.018, parts={"data_wait": 0.009}, sampled=COLD, events=starts)
    findings, _ = judge(make_case(control(), after))
    shares = [one(findings, code).share_ratio or 0.0 for code in ("DAT203", "DAT204")]
    assert sum(shares) == pytest.approx(1.0, abs=0.05)
    assert shares[1] == pytest.approx(0.5, abs=0.1)


def test_work_beside_the_reads_is_left_out() -> None:
    """Of 8 ms in the rest of the step, 5 ms of more CPU time of the process itself are no wait for data."""
    plain = {"batches": 0, "samples": 0, "elements": 0}
    nothing = {"data_wait": 0.0}
    after = resumed(0.018, counters={**plain, "user_s": 0.014}, parts=nothing, sampled=COLD)
    before = control(counters={**plain, "user_s": 0.009}, parts=nothing)
    found = one(judge(make_case(before, after))[0], "DAT203")
    assert found.delta_s == pytest.approx(0.003, abs=0.0005)
    many = {"values": {"threads.intra_op": 4}}
    unknown = make_case(
        control(counters={**plain, "user_s": 0.009}, parts=nothing, **many),
        resumed(0.018, counters={**plain, "user_s": 0.014}, parts=nothing, sampled=COLD, **many),
    )
    assert one(judge(unknown)[0], "DAT203").delta_s == pytest.approx(0.008, abs=0.0005)
