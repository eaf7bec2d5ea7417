"""`env` shows what this machine lets the doctor see."""

from __future__ import annotations

import pytest

from ckpt_doctor.probe import environment
from ckpt_doctor.probe.environment import Ability
from tests.cli.conftest import Cli


def test_yes_no_and_the_fix(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ability has its line, each no its fix, and a lack is no failure."""
    found = (Ability("stacks", True, "py-spy reads"), Ability("GPU", False, "none\x1b[2J", "Buy one."))
    monkeypatch.setattr(environment, "survey", lambda: found)
    outcome = cli("env")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines == [
        ["stacks", "yes", "py-spy", "reads"],
        ["GPU", "no", "none\\x1b[2J"],
        ["Fix:", "Buy", "one."],
    ]
