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
from ckpt_doctor.readers.evidence import Hints
from ckpt_doctor.readers.recordings import HEADER
from tests.cli.conftest import Cli
from tests.report.sample import probe_report


def test_compare(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both recordings and the policy reach the doctor, and the report reaches standard output."""
    calls: list[tuple[str, str, Policy, Hints]] = []

    def answer(before: str, after: str, policy: Policy, hints: Hints, progress: object) -> Report:
        calls.append((before, after, policy, hints))
        return probe_report(command="compare")

    monkeypatch.setattr(doctor, "compare", answer)
    pair = ("--before", "a", "--after", "b")
    outcome = cli("compare", *pair, "--fail-on", "info", "--format", "json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["command"] == "compare"
    cli("compare", *pair, "--log-pattern", "(?P<step_s>x)", "--column", "step=n", "--column", "time=a=b")
    hints = Hints("(?P<step_s>x)", {"step": "n", "time": "a=b"})
    assert calls == [("a", "b", Policy(fail_on=Severity.INFO), Hints()), ("a", "b", Policy(), hints)]


@pytest.mark.parametrize("columns", [("step",), ("step=",), ("step=a", "step=b")])
def test_columns_in_another_form(cli: Cli, columns: tuple[str, ...]) -> None:
    """What cannot be understood is one clear line and exit code 2."""
    given = [word for column in columns for word in ("--column", column)]
    outcome = cli("compare", "--before", ".", "--after", ".", *given)
    assert outcome.code == 2
    assert "FIELD=NAME" in outcome.err


def test_two_logs(cli: Cli, tmp_path: Path) -> None:
    """Logs of two runs are compared through the user's expression; what they cannot tell is said."""
    for name, step_s in (("a.log", 0.2), ("b.log", 0.5)):
        lines = [f"step {k} of 100: {step_s + 0.001 * (k % 3):.3f} s/it\n" for k in range(60)]
        (tmp_path / name).write_text("".join(lines))
    pair = ("--before", "a.log", "--after", "b.log")
    pattern = r"step (?P<step>\d+).*?(?P<step_s>[\d.]+) s/it"
    outcome = cli("compare", *pair, "--log-pattern", pattern, "--format", "json")
    assert outcome.code == 1
    report = json.loads(outcome.out)
    jsonschema.validate(report, json.loads((Path(render.__file__).parent / "schema.json").read_text()))
    assert report["verdict"]["ratio"] == pytest.approx(2.49, abs=0.01)
    assert report["verdict"]["side"] == "not_established"
    assert report["budget"] == []
    assert report["resume_cost"]["first_step_s"] is None
    assert report["comparison"]["before"]["kind"] == "log"
    assert {"DAT203", "DAT209", "CMP302", "MSR905"} <= {item["code"] for item in report["not_evaluated"]}
    text = " ".join(cli("compare", *pair, "--log-pattern", pattern).out.split())
    assert "50 and 50 steps of a log" in text
    assert cli("compare", *pair).code == 2
    assert cli("compare", *pair, "--log-pattern", "(").code == 2


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


def test_a_baseline(cli: Cli, tmp_path: Path) -> None:
    """Against a report in JSON only what is new counts, of a later report and of a checkpoint."""
    torch.save({"model": {"w": torch.zeros(2)}, "step": 1}, tmp_path / "a.pt")
    assert cli("inspect", "a.pt", "-o", "base.json", "--fail-on", "info").code == 1
    torch.save({"model": {"w": torch.zeros(2)}, "step": 2}, tmp_path / "b.pt")
    cli("inspect", "b.pt", "-o", "now.json", "--require", "optimizer")
    same = cli("compare", "--before", "base.json", "--after", "b.pt", "--fail-on", "info", "-f", "json")
    assert same.code == 0
    report = json.loads(same.out)
    assert report["verdict"]["status"] == "healthy"
    assert report["findings"] == []
    assert report["context"]["known"]
    worse = cli("compare", "--before", "base.json", "--after", "now.json", "-f", "json")
    assert worse.code == 1
    assert [finding["code"] for finding in json.loads(worse.out)["findings"]] == ["STA101"]


def test_a_baseline_of_another_kind(cli: Cli, tmp_path: Path) -> None:
    """What is neither a report nor a checkpoint cannot be held against a baseline."""
    torch.save({"step": 1}, tmp_path / "a.pt")
    cli("inspect", "a.pt", "-o", "base.json")
    (tmp_path / "notes.txt").write_text("nothing")
    outcome = cli("compare", "--before", "base.json", "--after", "notes.txt")
    assert outcome.code == 2
    assert "notes.txt" in outcome.err
    assert cli("compare", "--before", "a.pt", "--after", "base.json").code == 2


def test_a_log_that_shows_another_speed(cli: Cli, tmp_path: Path) -> None:
    """A shown throughput that rises 393 times does not make the run faster: the clock decides."""
    for name, shown in (("before.jsonl", 571.0), ("after.jsonl", 224413.0)):
        rows = [
            {"current_steps": 5 * k, "loss": 1.0, "elapsed_time": f"0:{70 * k // 60:02d}:{70 * k % 60:02d}"}
            for k in range(1, 40)
        ]
        (tmp_path / name).write_text("".join(json.dumps({**row, "throughput": shown}) + "\n" for row in rows))
    outcome = cli("compare", "--before", "before.jsonl", "--after", "after.jsonl", "--format", "json")
    assert outcome.code == 0
    report = json.loads(outcome.out)
    assert report["verdict"]["status"] == "same"
    assert report["verdict"]["before_step_s"] == pytest.approx(14.0)
    assert report["comparison"]["before"]["kind"] == "table of steps"
    (finding,) = report["findings"]
    assert finding["code"] == "MSR907"
    assert "393.02" in finding["summary"]
