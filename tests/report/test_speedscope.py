"""Stacks for speedscope: each profile is one mean step of its run."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.facts.report import Report
from ckpt_doctor.facts.run import SourceLine
from ckpt_doctor.report.speedscope import render
from tests.report.sample import inspect_report, measured_report


def with_stacks() -> Report:
    """The measured report, its resumed run with whole stacks."""
    report = measured_report()
    assert report.comparison is not None
    after = report.comparison.after
    main, load, read = (SourceLine("train.py", n, f"f{n}") for n in (1, 42, 7))
    profile = replace(after.run.stacks[0], sampled_s=4.0, stacks={(main, load): 3.0, (main, read): 1.0})
    after = replace(after, run=replace(after.run, stacks=(profile,)))
    return replace(report, comparison=replace(report.comparison, after=after))


def told(document: Any, profile: Any) -> dict[tuple[str, ...], float]:
    """Seconds by the names of a stack, as speedscope shows them."""
    frames = document["shared"]["frames"]
    stacks = [tuple(frames[index]["name"] for index in stack) for stack in profile["samples"]]
    return dict(zip(stacks, profile["weights"], strict=True))


def test_whole_stacks() -> None:
    """A stack's weight is what it takes of the run's mean step."""
    report = with_stacks()
    assert report.comparison is not None
    document = json.loads(render(report))
    before, after = document["profiles"]
    step_s = report.comparison.after.step_s
    assert told(document, after) == pytest.approx({("f1", "f42"): 0.75 * step_s, ("f1", "f7"): 0.25 * step_s})
    assert before["name"].startswith("before")
    for profile in (before, after):
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "seconds", 0)
        assert math.isclose(profile["endValue"], sum(profile["weights"]))


def test_lines_where_only_lines_are_known() -> None:
    """Without whole stacks each of the user's lines is a stack of its own."""
    document = json.loads(render(measured_report()))
    files = {(frame["file"], frame["line"]) for frame in document["shared"]["frames"]}
    assert files == {("/home/user/train.py", 42), ("/home/user/model.py", 7)}


def test_no_stacks() -> None:
    """Where none were sampled the document says so."""
    document = json.loads(render(inspect_report()))
    assert document["profiles"] == []
    assert "no stacks" in document["name"]
