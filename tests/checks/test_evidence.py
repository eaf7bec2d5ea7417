"""Runs that were read from traces and logs are judged by what these tell, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import catalogue, judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import Case, Side, Status, Verdict
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.absences import SIGNALS, absences
from tests.builders import Column, make_case, make_run, noisy, one

TRACED = ("parts", "settings", "batches", "compile", "graph_capture", "elements")
PARTS: Mapping[str, Column] = {"data_wait": 0.001, "forward": 0.003, "backward": 0.004, "optimizer": 0.001}
COUNTERS: Mapping[str, Column] = {"batches": 1, "backwards": 1, "operator_s": 0.003, "multiply_adds": 1000}
ON_DEVICE: Mapping[str, object] = {"model.devices": "cuda"}


def evidence(
    mean_s: float = 0.01,
    *told: str,
    arm: str = "before",
    parts: Mapping[str, Column] | None = None,
    counters: Mapping[str, Column] | None = None,
    **changes: Any,
) -> RunRecord:
    """A run of 60 steps of which only a trace, or less, is there."""
    run = make_run(
        noisy(mean_s, 60, seed=3 if arm == "before" else 4),
        arm=arm,
        parts={**PARTS, **(parts or {})} if "parts" in told else {},
        counters={**COUNTERS, **(counters or {})},
        not_measured=absences("trace", told),
        **changes,
    )
    (rank,) = run.ranks
    if "parts" not in told:
        rank = replace(rank, steps=replace(rank.steps, parts={}))
    rank = replace(rank, sees_start=False)
    return replace(run, meta=replace(run.meta, kind="trace"), ranks=(rank,), samples=(), host=())


def verdict_of(case: Case) -> Verdict:
    """The answer to a case."""
    return decide(case, judge(case)[0])


def test_rules_are_asked_about_recordings_only() -> None:
    """A rule that does not say that it can do with less is not evaluated, and says why."""
    _, unknown = judge(make_case(evidence(0.01, *TRACED), evidence(0.01, *TRACED, arm="after")))
    told = {item.code: item.why for item in unknown}
    for rule in catalogue():
        if RECORDING in rule.needs:
            assert told[rule.code] == "a trace tells too little: this takes a recording"
    assert "trace does not tell" in told["DAT204"]
    assert not {"CMP319", "DAT209", "MSR901", "WRK501"} & told.keys()
    assert not {code for code in told if code.startswith("STA")}


def test_needs_are_known_signals() -> None:
    """What a rule says that it needs is something that evidence can say it lacks."""
    for rule in catalogue():
        assert set(rule.needs) <= {RECORDING, *SIGNALS}, rule.code


def test_equal_runs() -> None:
    """Two traces of the same speed are the same, and nothing is blamed."""
    case = make_case(evidence(0.01, *TRACED), evidence(0.01, *TRACED, arm="after"))
    assert judge(case)[0] == ()
    assert verdict_of(case).status is Status.SAME


@pytest.mark.parametrize(
    ("told", "parts", "counters", "side"),
    [
        (TRACED, {"data_wait": 0.011}, {}, Side.DATA),
        (TRACED, {"backward": 0.014}, {}, Side.COMPUTE),
        (TRACED, {"optimizer": 0.011}, {}, Side.COMPUTE),
        (TRACED, {"forward": 0.013}, {"operator_s": 0.013}, Side.COMPUTE),
        (TRACED, {"forward": 0.013}, {}, Side.NOT_ESTABLISHED),
        (TRACED, {}, {}, Side.NOT_ESTABLISHED),
        (TRACED[:-1], {"backward": 0.014}, {}, Side.NOT_ESTABLISHED),
        (TRACED[:-1], {"optimizer": 0.011}, {}, Side.COMPUTE),
        (TRACED, {"forward": 0.006, "backward": 0.009}, {"multiply_adds": 2000}, Side.WORK),
        ((), {}, {}, Side.NOT_ESTABLISHED),
    ],
    ids=[
        "data wait",
        "backward",
        "optimizer",
        "operators of forward",
        "forward without operators",
        "rest",
        "backward, of unknown work",
        "optimizer, of unknown work",
        "more work",
        "whole steps only",
    ],
)
def test_sides(told: tuple[str, ...], parts: Any, counters: Any, side: Side) -> None:
    """A side is named where the trace shows it, and only there."""
    after = evidence(0.02, *told, arm="after", parts=parts, counters=counters)
    found = verdict_of(make_case(evidence(0.01, *told), after))
    assert (found.status, found.side) == (Status.SLOWER, side)


@pytest.mark.parametrize(
    ("parts", "counters", "side"),
    [
        ({"data_wait": 0.011}, {"device_busy_s": 0.008, "exposed_data_wait_s": 0.011}, Side.DATA),
        ({"data_wait": 0.011}, {"device_busy_s": 0.018, "exposed_data_wait_s": 0.0}, Side.COMPUTE),
        ({"backward": 0.014}, {"device_busy_s": 0.008, "exposed_data_wait_s": 0.0}, Side.NOT_ESTABLISHED),
    ],
    ids=["the device waits", "the device works longer", "neither"],
)
def test_a_device_that_works_on_its_own(parts: Any, counters: Any, side: Side) -> None:
    """The host's times say nothing of a device: what it did meanwhile does."""
    before = evidence(
        0.01, *TRACED, counters={"device_busy_s": 0.008, "exposed_data_wait_s": 0.0}, values=ON_DEVICE
    )
    after = evidence(0.02, *TRACED, arm="after", parts=parts, counters=counters, values=ON_DEVICE)
    found = verdict_of(make_case(before, after))
    assert (found.status, found.side) == (Status.SLOWER, side)


def test_compiled_code_that_is_gone() -> None:
    """A trace shows that compiled regions are no longer called."""
    before = evidence(0.01, *TRACED, values={"compiled.frames": 3})
    after = evidence(0.02, *TRACED, arm="after", parts={"forward": 0.013}, values={"compiled.frames": 0})
    found = verdict_of(make_case(before, after))
    assert (found.cause, found.side) == ("CMP303", Side.COMPUTE)


def test_graphs_that_are_launched_no_more() -> None:
    """A trace shows that CUDA graphs are replayed in fewer steps than before."""
    before = evidence(0.01, *TRACED, counters={"graph_replays": 14})
    after = evidence(0.02, *TRACED, arm="after", parts={"forward": 0.013}, counters={"graph_replays": 0})
    found = verdict_of(make_case(before, after))
    assert (found.cause, found.side) == ("CMP304", Side.COMPUTE)


def test_what_is_proved_comes_before_what_only_the_clock_shows() -> None:
    """Twice the passes take four times as long, on a machine that nobody watched: the passes come first."""
    parts = {"forward": 0.012, "backward": 0.024}
    after = evidence(0.045, *TRACED, arm="after", parts=parts, counters={"backwards": 2})
    case = make_case(evidence(0.01, *TRACED), after)
    findings, _ = judge(case)
    assert (one(findings, "CMP319").share_ratio or 0) > (one(findings, "WRK501").share_ratio or 0)
    assert decide(case, findings).cause == "WRK501"


@pytest.mark.parametrize(("forward", "side"), [(0.004, Side.DATA), (0.009, Side.NOT_ESTABLISHED)])
def test_two_sides_that_only_the_clock_shows(forward: float, side: Side) -> None:
    """Where nearly as much lies elsewhere, the larger part does not establish a side."""
    parts = {"data_wait": 0.011, "forward": forward}
    after = evidence(
        0.01 + 0.01 + forward - 0.003, *TRACED, arm="after", parts=parts, counters={"operator_s": forward}
    )
    found = verdict_of(make_case(evidence(0.01, *TRACED), after))
    assert (found.status, found.cause, found.side) == (Status.SLOWER, "DAT209", side)


def test_sources() -> None:
    """Evidence names the trace as its source, not an agent that was not there."""
    after = evidence(0.02, *TRACED, arm="after", parts={"data_wait": 0.011})
    findings, _ = judge(make_case(evidence(0.01, *TRACED), after))
    assert {e.source for e in one(findings, "DAT209").evidence} == {"trace"}


@pytest.mark.parametrize(
    ("entries", "stride", "few"),
    [
        (30, 10, None),
        (8, 10, None),
        (4, 50, "only 3 entries of a log could be compared"),
        (12, 1, "only 9 steps could be compared"),
    ],
)
def test_entries_of_a_log(entries: int, stride: int, few: str | None) -> None:
    """Few entries that each stand for many steps are enough, but not too few."""
    runs = []
    for arm, mean_s in (("before", 0.01), ("after", 0.02)):
        run = evidence(arm=arm)
        (rank,) = run.ranks
        times = noisy(mean_s, entries, seed=5)
        ends = [1000.0 + sum(times[: i + 1]) * stride for i in range(entries)]
        steps = replace(
            rank.steps,
            t_start_s=(1000.0, *ends[:-1]),
            t_end_s=tuple(ends),
            observer_s=(0.0,) * entries,
            counters={},
            digests=(None,) * entries,
            strides=(stride,) * entries,
        )
        runs.append(replace(run, ranks=(replace(rank, steps=steps),)))
    case = make_case(runs[0], runs[1])
    findings, _ = judge(case)
    told = [finding.summary for finding in findings if finding.code == "MSR901"]
    assert bool(told) == (few is not None)
    found = decide(case, findings)
    assert found.status is (Status.SLOWER if few is None else Status.INCONCLUSIVE)
    if few is not None:
        assert few in found.sentence
        assert few[1:] in told[0]
