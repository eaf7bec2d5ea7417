"""Python starts the agent, and sees nothing of how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_doctor.agent.options import OPTIONS_VARIABLE, AgentOptions
from ckpt_doctor.probe.arm import with_agent
from tests.recorded import environment, run_alone, run_inside


def test_the_users_sitecustomize_runs(tmp_path: Path) -> None:
    """A sitecustomize that ours stands in front of runs once, and is the one that others import."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("print('mine runs')\nvalue = 5\n")
    (tmp_path / "train.py").write_text(
        "import sitecustomize\nprint(sitecustomize.value, sitecustomize.__file__)\n"
    )
    options = AgentOptions(str(tmp_path / "rec"))
    alone = run_alone(tmp_path, "train.py", PYTHONPATH=str(mine))
    inside = run_inside(tmp_path, "train.py", options=options, PYTHONPATH=str(mine))
    assert inside.stdout == alone.stdout == f"mine runs\n5 {mine / 'sitecustomize.py'}\n"
    assert inside.stderr == alone.stderr


def test_a_sitecustomize_that_fails(tmp_path: Path) -> None:
    """An error in the user's sitecustomize is reported as Python reports it, and the script runs."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("raise KeyError('mine')\n")
    (tmp_path / "train.py").write_text("print('ran')\n")
    options = AgentOptions(str(tmp_path / "rec"))
    alone = run_alone(tmp_path, "train.py", PYTHONPATH=str(mine))
    inside = run_inside(tmp_path, "train.py", options=options, PYTHONPATH=str(mine))
    assert inside.stdout == alone.stdout == "ran\n"
    assert "KeyError: 'mine'" in inside.stderr
    assert "ckpt-doctor" not in inside.stderr


@pytest.mark.parametrize("path", [None, "", "a:b", ":a"])
def test_the_module_path_looks_as_before(tmp_path: Path, path: str | None) -> None:
    """``sys.path`` and what can be imported from it are the same, whatever PYTHONPATH was."""
    (tmp_path / "train.py").write_text(
        "import sys, importlib.util\nprint(sys.path, sys.argv, sys.flags)\n"
        "print([importlib.util.find_spec(name) for name in ('agent', 'inject', 'startup')])\n"
    )
    extra = {} if path is None else {"PYTHONPATH": path}
    alone = run_alone(tmp_path, "train.py", "--x", **extra)
    inside = run_inside(tmp_path, "train.py", "--x", options=AgentOptions(str(tmp_path / "rec")), **extra)
    assert inside.stdout == alone.stdout
    assert "None, None, None" in inside.stdout


def test_an_agent_that_cannot_start_lets_the_script_run(tmp_path: Path) -> None:
    """Options that nobody understands are one line on stderr, and the script runs."""
    (tmp_path / "train.py").write_text("print('ran')\n")
    (tmp_path / "rec").mkdir()
    given = with_agent(environment(), AgentOptions(str(tmp_path / "rec")))
    command = [sys.executable, "train.py"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env={**given, OPTIONS_VARIABLE: "{"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "ran\n"
    (line,) = result.stderr.splitlines()
    assert line.startswith("ckpt-doctor: not measuring this process: ")
