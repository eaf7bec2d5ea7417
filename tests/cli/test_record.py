"""`record` passes its script's exit code through."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ckpt_doctor import doctor
from tests.cli.conftest import Cli


@pytest.mark.parametrize("code", [0, 7, 137])
def test_the_scripts_own_exit_code(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, code: int, tmp_path: Path
) -> None:
    """Command and folder are handed on, and whatever the script exits with is the exit code."""
    (tmp_path / "train.py").write_text("")
    calls: list[tuple[Sequence[str], Path]] = []

    def answer(command: Sequence[str], output: Path) -> int:
        calls.append((command, output))
        return code

    monkeypatch.setattr(doctor, "record", answer)
    outcome = cli("record", "-o", "rec/monday", "train.py", "-o", "x")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", "")
    assert calls == [((sys.executable, "train.py", "-o", "x"), Path("rec/monday"))]


def test_the_folder_is_required(cli: Cli) -> None:
    """Without a folder nothing is started."""
    outcome = cli("record", "train.py")
    assert outcome.code == 2
    assert "--output" in outcome.err
