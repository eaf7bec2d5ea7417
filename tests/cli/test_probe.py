"""`probe` hands on what was asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report, Severity
from ckpt_doctor.probe.request import ProbeRequest
from tests.cli.conftest import Cli
from tests.report.sample import probe_report


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[ProbeRequest, Policy]]:
    """What the doctor was asked; it answers with a cold page cache."""
    (tmp_path / "train.py").write_text("")
    calls: list[tuple[ProbeRequest, Policy]] = []

    def answer(request: ProbeRequest, policy: Policy, progress: Any) -> Report:
        progress("running", 0.5)
        calls.append((request, policy))
        return probe_report()

    monkeypatch.setattr(doctor, "probe", answer)
    return calls


def test_everything_behind_the_script_is_its_own(cli: Cli, asked: list[tuple[ProbeRequest, Policy]]) -> None:
    """Options of the script that look like ours are not read as ours."""
    outcome = cli("probe", "--steps", "50", "train.py", "--steps", "7", "--help", "-o", "x", "--", "y")
    assert outcome.code == 1
    assert outcome.out.startswith("SLOWER")
    request = asked[0][0]
    assert request.command == (sys.executable, "train.py", "--steps", "7", "--help", "-o", "x", "--", "y")
    assert request.steps == 50


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("--", "sh", "-c", "train"), ("sh", "-c", "train")),
        (("-m", "package.module", "-m"), (sys.executable, "-m", "package.module", "-m")),
        (("--threads", "1", "-m", "module"), (sys.executable, "-m", "module")),
    ],
)
def test_other_commands(
    cli: Cli, asked: list[tuple[ProbeRequest, Policy]], words: tuple[str, ...], command: tuple[str, ...]
) -> None:
    """Launchers stand behind two dashes, modules behind -m."""
    cli("probe", *words)
    assert asked[0][0].command == command


def test_the_defaults_are_the_requests_own(cli: Cli, asked: list[tuple[ProbeRequest, Policy]]) -> None:
    """Without options the request is as it would be without a command line."""
    cli("probe", "train.py")
    assert asked[0] == (ProbeRequest(command=(sys.executable, "train.py")), Policy())


def test_every_option_arrives(cli: Cli, asked: list[tuple[ProbeRequest, Policy]]) -> None:
    """Each option sets its own field of the request or the policy."""
    cli(
        *("probe", "--resume-args", "--resume {checkpoint}", "--after-args", "-r {checkpoint}"),
        *("--checkpoint", "c.pt", "--checkpoint-path", "out/*.pt", "--steps", "11", "--turns", "13"),
        *("--turn", "0.25", "--budget", "17", "--pairs", "18", "--first-step-timeout", "19"),
        *("--save-timeout", "23"),
        *("--threads", "2", "--steady-heap", "--cold-cache", "--alternate", "--no-stacks"),
        *("--confirm", "--suspect", "DAT203", "--suspect", "cmp317"),
        *("--allow-overwrite", "--recordings", "rec", "--fail-on", "info", "--inconclusive-ok"),
        *("--ignore", "DAT201", "train.py"),
    )
    request, policy = asked[0]
    assert request == ProbeRequest(
        command=(sys.executable, "train.py"),
        resume_args="--resume {checkpoint}",
        after_args="-r {checkpoint}",
        checkpoint="c.pt",
        checkpoint_path="out/*.pt",
        steps=11,
        turns=13,
        turn_s=0.25,
        budget_s=17.0,
        pairs=18,
        first_step_timeout_s=19.0,
        save_timeout_s=23.0,
        threads=2,
        steady_heap=True,
        cold_cache=True,
        alternate=True,
        confirm=True,
        suspects=("DAT203", "CMP317"),
        stacks=False,
        allow_overwrite=True,
        output=Path("rec"),
    )
    assert policy == Policy(ignored=frozenset({"DAT201"}), fail_on=Severity.INFO, inconclusive_ok=True)


def test_nothing_runs_after_a_mistake(cli: Cli, asked: list[tuple[ProbeRequest, Policy]]) -> None:
    """A wrong format, file or option is told before the script is started."""
    for arguments in (("--format", "nope"), ("-o", "no/such/folder.json"), ("--fail-on", "x"), ("--nope",)):
        assert cli("probe", *arguments, "train.py").code == 2
    assert asked == []
