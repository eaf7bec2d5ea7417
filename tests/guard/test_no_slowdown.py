"""Scripts that are slower after a resume, and those that are not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Report, Side, Status, Verdict
from ckpt_doctor.facts.treatment import Confirmation
from ckpt_doctor.guard.failure import Failure
from ckpt_doctor.guard.no_slowdown import no_slowdown
from ckpt_doctor.probe.request import ProbeRequest
from tests.report.sample import cold_cache, order_lost, probe_report
from tests.test_doctor import SCRIPT

Judge = Callable[..., Failure | None]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges a report as if a probe had just come to it."""
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)

    def call(report: Report, **options: Any) -> Failure | None:
        monkeypatch.setattr(doctor, "probe", lambda *_: report)
        return no_slowdown(["train.py"], folder=tmp_path / "recordings", **options)

    return call


def verdict(status: Status) -> Report:
    """A report with this outcome, without a cause."""
    answer = Verdict(status, Side.NONE, None, None, f"It is {status.value}.", "Measure more.")
    return probe_report(verdict=answer, findings=(order_lost(),))


def test_a_slower_run(judge: Judge, tmp_path: Path) -> None:
    """The failure tells the ratio with its interval, the cause, its evidence and the remedy."""
    lines = str(judge(probe_report())).splitlines()
    assert lines[0] == (
        "train.py: after a resume each step takes 1.53× (1.49–1.57) the time before, and 1.10× is allowed."
    )
    assert lines[1] == "The resumed run takes 51.2 ms per step instead of 33.4 ms, waiting for the disk."
    assert lines[2].startswith("Cause: DAT203 cold-page-cache (data side, error, steady, +17.1 ms/step")
    assert "    physical bytes read per step, after: 12.4 MB/step (/proc)" in lines
    assert any(line.startswith("  Fix: Restore the sampler's order") for line in lines)
    assert "  More: ckpt-doctor explain DAT203" in lines
    assert "DAT201" not in str(lines)
    assert lines[-1] == f"Recordings: {tmp_path / 'recordings'}"


def test_what_is_allowed_passes(judge: Judge) -> None:
    """A slowdown within the ratio is none, and neither are equal or faster runs."""
    assert judge(probe_report(), max_ratio=1.6) is None
    assert judge(verdict(Status.SAME)) is None
    assert judge(verdict(Status.FASTER)) is None


def test_a_weak_measurement(judge: Judge) -> None:
    """A measurement that says nothing is a failure of its own kind, unless it is let pass."""
    lines = str(judge(verdict(Status.INCONCLUSIVE))).splitlines()
    assert lines[0] == "train.py: It is inconclusive."
    assert lines[1] == "  Next: Measure more."
    assert "neither shows a slowdown nor that there is none" in lines[2]
    assert judge(verdict(Status.INCONCLUSIVE), inconclusive="pass") is None


def test_a_slow_start(judge: Judge) -> None:
    """What the resume costs once counts by itself, however fast the steps are."""
    report = probe_report(
        findings=(cold_cache(code="DAT202", share_ratio=None, delta_s=32.0, shape=Shape.ONE_TIME),)
    )
    lines = str(judge(report, max_ratio=2.0)).splitlines()
    assert lines[0] == "train.py: resuming costs 32.0 s once, and 0 s is allowed."
    assert lines[2].startswith("Cause: DAT202 ")
    assert judge(report, max_ratio=2.0, max_once_s=60.0) is None


def test_a_cause_that_was_taken_away_in_vain(judge: Judge) -> None:
    """It is not told as the cause; that the run is slower is."""
    refuted = replace(cold_cache(), confirmation=Confirmation(confirmed=False, sentence="as slow without"))
    text = str(judge(probe_report(findings=(refuted,))))
    assert text.startswith("train.py: after a resume each step takes 1.53×")
    assert "Cause" not in text


def test_what_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python scripts run with this Python, anything else as it is, with the options given."""
    asked: list[ProbeRequest] = []

    def probe(request: ProbeRequest, *_: object) -> Report:
        asked.append(request)
        return verdict(Status.SAME)

    monkeypatch.setattr(doctor, "probe", probe)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    folder = tmp_path / "recordings"
    no_slowdown(["train.py", "--lr", "1"], folder=folder, options={"resume_args": "{checkpoint}", "turns": 3})
    no_slowdown(["-m", "train"], folder=folder)
    no_slowdown(["sh", "train.py"], folder=folder)
    assert [request.command for request in asked] == [
        (sys.executable, "train.py", "--lr", "1"),
        (sys.executable, "-m", "train"),
        ("sh", "train.py"),
    ]
    assert (asked[0].resume_args, asked[0].turns, asked[0].output) == ("{checkpoint}", 3, folder)


@pytest.mark.parametrize(
    ("command", "options", "what"),
    [
        (["none.py"], {}, "none.py: no such file"),
        ([], {}, "no script"),
        (["train.py"], {"max_ratio": 0.9}, "max_ratio=0.9"),
        (["train.py"], {"inconclusive": "skip"}, "inconclusive='skip'"),
        (["train.py"], {"options": {"turn": 1}}, "no option turn"),
        (["train.py"], {"options": {"output": "x"}}, "no option output"),
    ],
)
def test_misuse(judge: Judge, tmp_path: Path, command: list[str], options: dict[str, Any], what: str) -> None:
    """A missing file, or an option that makes no sense, is told in one line before anything runs."""
    with pytest.raises(UsageError, match=what):
        no_slowdown(command, folder=tmp_path, **options)


@pytest.mark.long
def test_a_real_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None) -> None:
    """A script whose optimizer state comes back as float64 fails, with that as the cause."""
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    options = {
        "resume_args": "--resume {checkpoint}",
        "turns": 8,
        "turn_s": 0.3,
        "threads": 1,
        "steady_heap": True,
    }
    failure = no_slowdown(["train.py", "--double"], folder=tmp_path / "recordings", options=options)
    assert "CMP305" in str(failure)
    assert "ckpt-doctor explain CMP305" in str(failure)
