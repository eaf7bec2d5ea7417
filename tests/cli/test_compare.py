"""`compare` hands on what was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import torch

from ckpt_doctor import doctor
from ckpt_doctor import report as render
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report, Severity
from ckpt_doctor.readers.recordings import HEADER
from tests.cli.conftest import Cli
from tests.report.sample import probe_report


def test_compare(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both recordings and the policy reach the doctor, and the report reaches standard output."""
    calls: list[tuple[str, str, Policy]] = []

    def answer(before: str, after: str, policy: Policy) -> Report:
        calls.append((before, after, policy))
        return probe_report(command="compare")

    monkeypatch.setattr(doctor, "compare", answer)
    outcome = cli("compare", "--before", "a", "--after", "b", "--fail-on", "info", "--format", "json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["command"] == "compare"
    assert calls == [("a", "b", Policy(fail_on=Severity.INFO))]


def test_no_recording(cli: Cli) -> None:
    """A folder that is no recording is one clear line and exit code 2."""
    outcome = cli("compare", "--before", ".", "--after", ".")
    assert outcome.code == 2
    assert "recording" in outcome.err
    assert "internal error" not in outcome.err


def test_two_checkpoints(cli: Cli, tmp_path: Path) -> None:
    """Of two checkpoints it tells what was lost; what the project demands of it fails."""
    torch.save({"model": {"w": torch.zeros(2)}, "scheduler": {"last_epoch": 1}, "step": 1}, tmp_path / "a.pt")
    torch.save({"model": {"w": torch.zeros(2).half()}, "step": 2}, tmp_path / "b.pt")
    pair = ("--before", "a.pt", "--after", "b.pt")
    outcome = cli("compare", *pair, "--format", "json")
    assert outcome.code == 0
    report = json.loads(outcome.out)
    jsonschema.validate(report, json.loads((Path(render.__file__).parent / "schema.json").read_text()))
    assert report["checkpoint_comparison"]["lost"] == {"scheduler": "scheduler"}
    assert {"what": "model: dtypes", "before": "float32", "after": "float16"} in report[
        "checkpoint_comparison"
    ]["changes"]
    assert {finding["checkpoint"] for finding in report["findings"]} == {"b.pt"}
    assert cli("compare", *pair, "--require", "scheduler").code == 1
    assert "lost: scheduler" in " ".join(cli("compare", *pair).out.split())


def test_a_recording_and_a_checkpoint(cli: Cli, tmp_path: Path) -> None:
    """Two things of different kinds are one clear line and exit code 2."""
    torch.save({"step": 1}, tmp_path / "a.pt")
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec" / HEADER).write_text("{}")
    outcome = cli("compare", "--before", "a.pt", "--after", "rec")
    assert outcome.code == 2
    assert "rec is a recording" in outcome.err
    assert outcome.out == ""
