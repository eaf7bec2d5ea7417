"""The JSON report keeps its names and its schema."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import resources
from inspect import signature
from typing import Any

import jsonschema
import pytest

from ckpt_doctor.facts.checklist import ItemStatus
from ckpt_doctor.facts.comparison import Interval, PairRatio, Shape
from ckpt_doctor.facts.report import Confidence, Evidence, Report, Severity, Side, Status
from ckpt_doctor.facts.states import PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.report.json import render
from tests.report.sample import (
    checkpoint,
    cold_cache,
    comparison,
    inspect_report,
    measured_report,
    probe_report,
)

SCHEMA = json.loads(resources.files("ckpt_doctor.report").joinpath("schema.json").read_text("utf-8"))

CONTRACT: dict[str, Any] = {
    "schema_version": 1,
    "tool": {"name", "version"},
    "command": "",
    "verdict": {
        *("status", "side", "cause", "confidence", "ratio", "ratio_low", "ratio_high", "before_step_s"),
        *("after_step_s", "before_samples_per_s", "after_samples_per_s", "detectable_ratio"),
    },
    "budget": [{"part", "before_s", "after_s", "delta_s", "low_s", "high_s"}],
    "resume_cost": {"first_step_s", "parts"},
    "findings": [
        {
            *("code", "name", "severity", "side", "summary", "share_ratio", "delta_s", "shape"),
            *("confidence", "evidence", "remedy", "location"),
        }
    ],
    "not_evaluated": [{"code", "why"}],
    "observer": {"agent_per_step_s", "sampler_ratio"},
    "checkpoints": [{"path", "format", "layout", "states", "size_bytes", "read_bytes", "optimizer"}],
    "checklist": [{"name", "status", "sentence", "codes"}],
}
"""The names that other tools rely on; none may ever go."""


def parsed(report: Report) -> Any:
    """The report as another program reads it, valid by the schema."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    document = json.loads(render(report), parse_constant=refuse)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_the_names_of_the_contract_are_there() -> None:
    """Every name that is promised is in the report, at its place."""
    document = parsed(probe_report())
    for name, content in CONTRACT.items():
        assert name in document
        if isinstance(content, set):
            assert content <= set(document[name])
        elif isinstance(content, list):
            assert content[0] <= set(document[name][0])
    assert set(document["resume_cost"]["parts"]) == {
        *("imports_s", "load_s", "workers_s", "fast_forward_s", "compile_s"),
    }
    assert set(document["findings"][1]["location"]) == {"file", "line"}
    assert {"what", "value", "unit", "source"} == set(document["findings"][1]["evidence"][0])
    assert {"presence", "detail", "where", "why"} <= set(document["checkpoints"][0]["states"]["optimizer"])


def test_an_inspection_is_valid_too() -> None:
    """Where nothing was run, the measured numbers are null and the finding names its checkpoint."""
    document = parsed(inspect_report())
    assert document["verdict"]["ratio"] is None
    assert document["budget"] == []
    assert document["resume_cost"] is None
    assert document["findings"][0]["checkpoint"] == "runs/x/last.pt"
    assert document["checklist"] == []


def test_the_parts_add_up() -> None:
    """The differences of the parts sum to the difference of the step times."""
    document = parsed(probe_report())
    verdict = document["verdict"]
    total_s = verdict["after_step_s"] - verdict["before_step_s"]
    assert math.isclose(sum(part["delta_s"] for part in document["budget"]), total_s, rel_tol=0.01)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_that_json_lacks(value: float) -> None:
    """NaN and infinity become null wherever they come from."""
    finding = cold_cache(evidence=(Evidence("x", value, "s", "agent"),), delta_s=value)
    report = probe_report(
        findings=(finding,), comparison=comparison(ratio=Interval(1.0, value, value), sampler_ratio=value)
    )
    document = parsed(report)
    assert document["findings"][0]["evidence"][0]["value"] is None
    assert document["verdict"]["ratio_low"] is None
    assert document["observer"]["sampler_ratio"] is None


def test_every_word_of_the_facts_is_in_the_schema() -> None:
    """A status, side, severity, confidence, shape, state or detail that the schema lacks cannot be added."""
    definitions = SCHEMA["$defs"]
    finding = definitions["finding"]["properties"]
    verdict = definitions["verdict"]["properties"]
    states = definitions["checkpoint"]["properties"]["states"]
    presence = states["additionalProperties"]["properties"]
    for enumeration, place in (
        (Status, verdict["status"]),
        (Side, verdict["side"]),
        (Side, finding["side"]),
        (Severity, finding["severity"]),
        (Confidence, finding["confidence"]),
        (Shape, finding["shape"]),
        (StateKind, states["propertyNames"]),
        (PresenceStatus, presence["presence"]),
        (PresenceDetail, presence["detail"]),
        (ItemStatus, definitions["item"]["properties"]["status"]),
    ):
        assert {member.value for member in enumeration} == set(place["enum"]) - {None}


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        (checkpoint(), ("checkpoints", 0)),
        (checkpoint().optimizers[0], ("checkpoints", 0, "optimizer")),
        (cold_cache(), ("findings", 1)),
        (probe_report().verdict, ("verdict",)),
        (probe_report().checklist[0], ("checklist", 0)),
        (probe_report(), ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_fact_is_left_out(facts: Any, place: tuple[str | int, ...]) -> None:
    """Every field of what is reported has its name in the report; one that is added must be told."""
    document = parsed(probe_report())
    for step in place:
        document = document[step]
    told_elsewhere = {"optimizers"}
    assert set(signature(type(facts)).parameters) - told_elsewhere <= set(document)


def test_a_value_of_any_type_is_written() -> None:
    """Settings of any type, also such as JSON lacks, do not stop the report."""
    base = comparison()
    change = replace(base.changes[0], before={1: (2, math.nan)}, after=object())
    document = parsed(probe_report(comparison=replace(base, changes=(change,))))
    assert document["comparison"]["changes"][0]["before"] == {"1": [2, None]}
    assert isinstance(document["comparison"]["changes"][0]["after"], str)


def test_a_finding_without_a_line_has_a_place_to_be_shown_at() -> None:
    """Beside the line that a rule found, which may be null, stands the nearest known one."""
    order, cause = parsed(measured_report())["findings"]
    assert cause["location"] == cause["shown_at"] == {"file": "train.py", "line": 42}
    assert order["location"] is None
    assert order["shown_at"] == {"file": "train.py", "line": 40}
    assert parsed(inspect_report())["findings"][0]["shown_at"] is None


def test_every_pair_of_processes_is_there() -> None:
    """Each with its recordings, its ratio and its interval; where there was only one, the list is empty."""
    pairs = (PairRatio("rec/before", "rec/after", Interval(1.5, 1.4, math.inf)),)
    assert parsed(probe_report(comparison=comparison(pairs=pairs)))["verdict"]["pairs"] == [
        {"before": "rec/before", "after": "rec/after", "ratio": 1.5, "ratio_low": 1.4, "ratio_high": None}
    ]
    assert parsed(probe_report())["verdict"]["pairs"] == parsed(inspect_report())["verdict"]["pairs"] == []
