"""`treat` writes a copy, says what it did, and never touches the checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Cli

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"


def test_it_says_what_it_did(cli: Cli, tmp_path: Path) -> None:
    """Sizes, each repair with what it saves, and what is still found are told; the exit code is 0."""
    outcome = cli("treat", str(FIXTURES / "wide_state.pt"), "-o", "fixed.pt")
    assert (outcome.code, outcome.err) == (0, "")
    text = " ".join(outcome.out.split())
    assert "-> fixed.pt: 9" in text
    assert "STA131 optimizer-state-bloated · saves" in text
    assert "optimizer: cast 8 tensors of state from float64 to float32" in text
    assert "values changed only where they were cast" in text
    assert "Still found: STA102 lr-scheduler-absent" in text
    assert (tmp_path / "fixed.pt").is_file()


def test_a_dry_run_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    """The same is told, and no file is there."""
    outcome = cli("treat", str(FIXTURES / "orphaned_state.pt"), "--dry-run")
    assert outcome.code == 0
    assert "a copy would save" in outcome.out
    assert "dropped 1 entry of state (99)" in " ".join(outcome.out.split())
    assert not list(tmp_path.iterdir())


def test_options_reach_the_repairs(cli: Cli) -> None:
    """Rules are named in either case, to be repaired alone or left out."""
    path = str(FIXTURES / "compiled.pt")
    assert "Not wanted: STA143" in cli("treat", path, "-o", "a.pt", "--skip", "sta143").out
    assert "stripped _orig_mod." in cli("treat", path, "-o", "b.pt", "--only", "STA143").out
    assert "Not wanted: STA143" in cli("treat", path, "-o", "c.pt", "--only", "STA131").out


def test_nothing_to_do(cli: Cli, tmp_path: Path) -> None:
    """A healthy checkpoint is copied as it is, and that is said."""
    outcome = cli("treat", str(FIXTURES / "plain.pt"), "-o", "fixed.pt")
    assert outcome.code == 0
    assert "nothing to do, copied as it is" in " ".join(outcome.out.split())
    assert (tmp_path / "fixed.pt").read_bytes() == (FIXTURES / "plain.pt").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plain.pt",), "a place for the copy"),
        (("plain.pt", "-o", "plain.pt"), "the checkpoint itself"),
        (("plain.pt", "-o", "link.pt", "--allow-overwrite"), "the checkpoint itself"),
        (("plain.pt", "-o", "there.pt"), "is there already"),
        (("plain.pt", "-o", "no/fixed.pt"), "does not exist"),
        (("plain.pt", "-o", "fixed.pt", "--only", "STA101"), "no repair for STA101"),
        (("plain.pt", "-o", "fixed.pt", "--drop-state", "x"), "no state to drop"),
        (("custom.pt", "-o", "fixed.pt"), "argparse.Namespace"),
        (("nothing.pt", "-o", "fixed.pt"), "nothing.pt"),
    ],
)
def test_what_is_refused(cli: Cli, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """One clear line, exit code 2, and every file as it was."""
    (tmp_path / "plain.pt").write_bytes((FIXTURES / "plain.pt").read_bytes())
    (tmp_path / "link.pt").symlink_to(tmp_path / "plain.pt")
    (tmp_path / "there.pt").write_bytes(b"mine")
    state = torch.load(FIXTURES / "foreach_off.pt", weights_only=True)
    torch.save({**state, "args": argparse.Namespace(lr=1)}, tmp_path / "custom.pt")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = cli("treat", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert words in outcome.err.splitlines()[0]
    assert "internal error" not in outcome.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_is_there_is_replaced_on_demand(cli: Cli, tmp_path: Path) -> None:
    """With --allow-overwrite the copy takes the place of what stands there."""
    (tmp_path / "there.pt").write_bytes(b"mine")
    outcome = cli("treat", str(FIXTURES / "compiled.pt"), "-o", "there.pt", "--allow-overwrite")
    assert outcome.code == 0
    assert "_orig_mod.0.weight" not in torch.load(tmp_path / "there.pt", weights_only=True)["model"]


def test_the_policy_of_the_project(cli: Cli, tmp_path: Path) -> None:
    """A rule that the project ignores is not repaired."""
    (tmp_path / "pyproject.toml").write_text('[tool.ckpt-doctor]\nignored = ["STA143"]\n')
    outcome = cli("treat", str(FIXTURES / "compiled.pt"), "-o", "fixed.pt")
    assert "nothing to do" in outcome.out
