"""Which command lines are taken as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_doctor.cli.plain import PlainInspection, plain_inspection
from tests.cli.conftest import Cli

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["inspect", "a.pt"], PlainInspection(("a.pt",), "text")),
        (["inspect", "a.pt", "-f", "json", "b.pt"], PlainInspection(("a.pt", "b.pt"), "json")),
        (["inspect", "--format", "json", "a.pt"], PlainInspection(("a.pt",), "json")),
        (["inspect"], None),
        (["inspect", "a.pt", "-f"], None),
        (["inspect", "--help"], None),
        (["inspect", "--", "-a.pt"], None),
        (["inspect", "--format=json", "a.pt"], None),
        (["inspect", "a.pt", "--require", "step"], None),
        (["--debug", "inspect", "a.pt"], None),
        (["compare", "a.pt"], None),
        ([], None),
    ],
)
def test_what_is_plain(
    arguments: list[str], found: PlainInspection | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths and a format are; any other option, and any other command, is not."""
    monkeypatch.delenv("CKPT_DOCTOR_DEBUG", raising=False)
    assert plain_inspection(arguments) == found


def test_other_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tracebacks are wanted, the full command line is used."""
    monkeypatch.setenv("CKPT_DOCTOR_DEBUG", "1")
    assert plain_inspection(["inspect", "a.pt"]) is None


@pytest.mark.parametrize("paths", [("complete.pt",), ("weights.pt", "nowhere.pt")])
def test_both_ways_say_the_same(cli: Cli, paths: tuple[str, ...]) -> None:
    """Output, errors and exit code are those of the full command line."""
    names = [str(FIXTURES / path) for path in paths]
    plain = cli("inspect", *names)
    full = cli("inspect", "--format=text", *names)
    assert plain == full


@pytest.mark.parametrize("format_name", ["text", "json"])
def test_nothing_needless_is_imported(format_name: str) -> None:
    """A plain inspection loads neither large libraries nor the rules and facts about runs."""
    heavy = {"typer", "rich", "torch", "numpy", "shutil", "threading", "tomllib", "ckpt_doctor.checks.data"}
    heavy |= {f"ckpt_doctor.facts.{name}" for name in ("run", "comparison", "treatment")}
    script = (
        "import sys; from ckpt_doctor.cli.app import run; run(sys.argv[2:]);"
        "sys.exit(' '.join(sorted(set(sys.argv[1].split()) & set(sys.modules))))"
    )
    command = ["inspect", "-f", format_name, str(FIXTURES / "complete.pt")]
    result = subprocess.run(
        [sys.executable, "-c", script, " ".join(heavy), *command], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip() == ""
