"""`inspect` reports what could be read and names what could not."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report
from tests.cli.conftest import Cli
from tests.report.sample import inspect_report

Answer = tuple[Report, tuple[CheckpointError, ...]]


def test_the_policy_reaches_the_doctor(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths and demanded states are handed on; a warning alone is no failure."""
    calls: list[tuple[Sequence[str], Policy]] = []

    def answer(paths: Sequence[str], policy: Policy) -> Answer:
        calls.append((paths, policy))
        return inspect_report(), ()

    monkeypatch.setattr(doctor, "inspect", answer)
    outcome = cli("inspect", "--require", "ema", "a.pt", "b.pt")
    assert outcome.code == 0
    assert outcome.out.startswith("FINDINGS: 1 warning")
    assert calls == [(["a.pt", "b.pt"], Policy(required=frozenset({"ema"})))]
    assert cli("inspect", "--fail-on", "warning", "a.pt").code == 1


@pytest.mark.parametrize("some_read", [True, False])
def test_what_cannot_be_read(cli: Cli, monkeypatch: pytest.MonkeyPatch, some_read: bool) -> None:
    """An unreadable checkpoint is named and makes the exit code 2; what could be read is still reported."""
    report = inspect_report() if some_read else inspect_report(checkpoints=(), findings=())
    error = CheckpointError("bad.pt: not a checkpoint", hint="Look again.")
    monkeypatch.setattr(doctor, "inspect", lambda paths, policy: (report, (error,)))
    outcome = cli("inspect", "--format", "json", "good.pt", "bad.pt")
    assert outcome.code == 2
    assert outcome.err == "ckpt-doctor: bad.pt: not a checkpoint\n  Look again.\n"
    assert outcome.out == "" if not some_read else json.loads(outcome.out)["checkpoints"]


def test_a_missing_file(cli: Cli) -> None:
    """A path that does not exist is one clear line and exit code 2."""
    outcome = cli("inspect", "nothing.pt")
    assert outcome.code == 2
    assert "nothing.pt" in outcome.err
    assert "internal error" not in outcome.err
