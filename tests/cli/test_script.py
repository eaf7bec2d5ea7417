"""The user's command, from the words behind our options."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpt_doctor.cli.script import script_command
from ckpt_doctor.errors import UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a script."""
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["train.py", "--lr", "1e-3"], (sys.executable, "train.py", "--lr", "1e-3")),
        (["-m", "package.train", "-m", "x"], (sys.executable, "-m", "package.train", "-m", "x")),
        (["sh", "run.sh"], ("sh", "run.sh")),
    ],
)
def test_commands(words: list[str], command: tuple[str, ...]) -> None:
    """Scripts and modules run with this Python, anything else as it is."""
    assert script_command(words) == command


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ([], "no script", "train.py"),
        (["-m"], "name of a module", None),
        (["--stepz", "5", "train.py"], "no option --stepz", "Did you mean --steps?"),
        (["--lr=1", "train.py"], "no option --lr", "behind its name"),
        (["trian.py"], "trian.py: no such file", "It is looked for in "),
        (["torchrunn", "train.py"], "torchrunn: no such command", ".py"),
    ],
)
def test_mistakes(words: list[str], what: str, hint: str | None) -> None:
    """A mistake is told before anything is started, with what was probably meant."""
    with pytest.raises(UsageError) as caught:
        script_command(words, ["--steps", "--turns"])
    assert what in caught.value.what
    assert hint is None or hint in str(caught.value.hint)
