"""Running the command line inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckpt_doctor.cli.app import run


@dataclass(frozen=True)
class Outcome:
    """What a command line left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run one command line in an empty folder, and return its exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_DOCTOR_DEBUG", raising=False)

    def call(*arguments: str) -> Outcome:
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
