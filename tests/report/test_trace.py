"""The trace of both runs, as Perfetto and Chrome read it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ckpt_doctor.facts.report import Report
from ckpt_doctor.report.trace import render
from tests.builders import CONTROL_STEPS, RESUMED_STEPS, SAVED_AT, event
from tests.report.sample import inspect_report, measured_report

Json = dict[str, Any]


def events(report: Report) -> list[Json]:
    """The events of a report's trace, each well formed."""
    found = json.loads(render(report))["traceEvents"]
    for each in found:
        assert each["ph"] in "MXCibe"
        assert isinstance(each["pid"], int)
        if each["ph"] != "M":
            assert each["ts"] >= 0
    return list(found)


def names(found: list[Json]) -> dict[int, str]:
    """The names of the trace's processes."""
    return {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}


def test_processes() -> None:
    """Both runs have a process for each rank and one for all their processes together."""
    assert list(names(events(measured_report())).values()) == [
        "before, rank 0",
        "before, all processes",
        "after, rank 0",
        "after, all processes",
    ]


def test_steps_and_turns_are_slices() -> None:
    """Each step is a slice of its length, named by its relative step; no two slices of a thread overlap."""
    report = measured_report()
    assert report.comparison is not None
    found = events(report)
    slices = [e for e in found if e["ph"] == "X"]
    steps = [e for e in slices if e["cat"] == "step"]
    assert len(steps) == CONTROL_STEPS + RESUMED_STEPS
    assert steps[0]["name"] == f"step {-SAVED_AT}"
    first = report.comparison.before.rank.steps
    assert math.isclose(steps[0]["dur"], (first.t_end_s[0] - first.t_start_s[0]) * 1e6, abs_tol=0.01)
    threads = defaultdict(list)
    for each in slices:
        threads[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    assert len(threads) == 4
    for spans in threads.values():
        spans.sort()
        assert all(a[1] <= b[0] + 0.01 for a, b in pairwise(spans))


def test_what_happened() -> None:
    """Saves, loads, compilations and worker starts are where they were, each with its end."""
    found = events(measured_report())
    begun = {(e["cat"], e["id"]): e["ts"] for e in found if e["ph"] == "b"}
    ended = {(e["cat"], e["id"]): e["ts"] for e in found if e["ph"] == "e"}
    assert begun.keys() == ended.keys()
    lengths = {name: ended[name, number] - begun[name, number] for name, number in begun}
    assert lengths == pytest.approx(
        {"compile": 0.4e6, "save": 0.05e6, "load": 0.2e6, "worker_start": 0.1e6}, abs=1
    )
    assert {e["name"] for e in found if e["ph"] == "i"} == {"loader", "loop"}


def test_counters() -> None:
    """Each part of a step and each resource of the process tree has its counter."""
    counters = {e["name"] for e in events(measured_report()) if e["ph"] == "C"}
    assert counters == {
        *("data_wait (ms)", "forward (ms)", "backward (ms)", "optimizer (ms)", "rest (ms)"),
        *("cpu_cores", "rss_bytes", "read_bytes_per_s"),
    }


def test_events_of_every_step_are_left_out() -> None:
    """A signal that tells something at each step without a length would hide the others."""
    report = measured_report()
    assert report.comparison is not None
    after = report.comparison.after
    noisy = replace(event("model_input", 1), t_s=after.rank.steps.t_end_s[1])
    rank = replace(after.rank, events=(*after.rank.events, noisy))
    after = replace(after, rank=rank, run=replace(after.run, ranks=(rank,)))
    found = events(replace(report, comparison=replace(report.comparison, after=after)))
    assert "model_input" not in {e["name"] for e in found}


def test_an_inspection_is_an_empty_trace() -> None:
    """Without runs the document is valid and empty."""
    assert events(inspect_report()) == []
