"""Options that several commands share complete in a shell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ckpt_doctor.checks.engine import catalogue
from ckpt_doctor.report import format_names


def completed(line: str) -> list[str]:
    """What a bash would offer for a line that was typed so far."""
    environment = {
        **os.environ,
        "_CKPT_DOCTOR_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    code = "from ckpt_doctor.cli.app import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
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
