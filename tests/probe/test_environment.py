"""What this machine lets the doctor see is found out by trying."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ckpt_doctor.probe import environment


def test_the_survey_leaves_nothing_behind() -> None:
    """Every ability is told in words, each no on Linux has a way out, and no process stays."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    abilities = environment.survey()
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert len({ability.name for ability in abilities}) == len(abilities)
    assert all(ability.detail for ability in abilities)
    assert all(ability.fix is None for ability in abilities if ability.available)


def test_the_survey_does_not_import_torch() -> None:
    """Torch's version is read from its metadata."""
    script = """
import sys
from ckpt_doctor.probe.environment import survey
survey()
print("torch" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_py_spy_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A py-spy that may not look is a no, with its own last words and a fix."""
    program = tmp_path / "py-spy"
    program.write_text("#!/bin/sh\necho 'Error: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    stacks = next(ability for ability in environment.survey() if ability.name == "stacks")
    assert not stacks.available
    assert stacks.detail == "Error: Permission denied"
    assert stacks.fix


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel files that do not exist are a no with a fix."""
    monkeypatch.setattr(environment, "_first_line", lambda path: None)
    abilities = {ability.name: ability for ability in environment.survey()}
    for name in ("run-queue delay", "pressure"):
        assert not abilities[name].available
        assert abilities[name].fix
