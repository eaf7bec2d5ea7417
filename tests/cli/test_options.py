"""Options that several commands share complete in a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_doctor.checks.engine import catalogue
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.report import format_names
from tests.cli.conftest import Cli

ASK_FOR_A_SHELL = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
"""Makes Typer take the shell's name as a value, instead of looking for the shell that started it."""


def asked(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command line with variables of the environment, as a shell sets them."""
    code = "from ckpt_doctor.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def completed(line: str) -> list[str]:
    """What a bash would offer for a line that was typed so far."""
    words = len(line.split(" "))
    result = asked(_CKPT_DOCTOR_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(words - 1))
    assert (result.returncode, result.stderr) == (ExitCode.OK, "")
    return result.stdout.split()


@pytest.mark.parametrize("command", ["inspect", "compare", "probe"])
def test_formats_complete(command: str) -> None:
    """The formats that begin with what was typed are offered, and no others."""
    assert completed(f"ckpt-doctor {command} --format s") == [n for n in format_names() if n.startswith("s")]


def test_commands_and_codes_complete() -> None:
    """Commands complete, and so do the codes of rules."""
    assert completed("ckpt-doctor insp") == ["inspect"]
    codes = [rule.code for rule in catalogue() if rule.code.startswith("DAT20")]
    assert completed("ckpt-doctor explain DAT20") == codes


@pytest.mark.parametrize(("line", "code"), [("ckpt-doctor insp", 0), ("ckpt-doctor inspect runs/", 1)])
def test_fish_asks_by_the_exit_code(line: str, code: int) -> None:
    """Fish offers our words where the exit code is 0, and files where it is 1."""
    result = asked(
        _CKPT_DOCTOR_COMPLETE="complete_fish",
        _TYPER_COMPLETE_FISH_ACTION="is-args",
        _TYPER_COMPLETE_ARGS=line,
    )
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")


def test_a_bash_completes_with_the_script_that_it_is_shown(tmp_path: Path) -> None:
    """What --show-completion prints makes a real bash complete."""
    shown = asked("--show-completion", "bash", **ASK_FOR_A_SHELL)
    assert (shown.returncode, shown.stderr) == (ExitCode.OK, "")
    program = tmp_path / "ckpt-doctor"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckpt_doctor "$@"\n')
    program.chmod(0o755)
    typed = (
        "COMP_WORDS=(ckpt-doctor comp); COMP_CWORD=1; "
        f'_ckpt_doctor_completion "{program}"; echo "${{COMPREPLY[@]}}"'
    )
    bash = subprocess.run(
        ["bash", "--norc", "-c", f"{shown.stdout}\n{typed}"], capture_output=True, text=True, check=False
    )
    assert (bash.stdout, bash.stderr) == ("compare\n", "")


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_a_shell_without_completion_is_no_finding(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """Where Typer knows no completion for the shell, the exit code is that of what could not run."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("ash", "/bin/ash"))
    outcome = cli(option)
    assert outcome.code == ExitCode.COULD_NOT_RUN
    assert "ash" in outcome.out + outcome.err
