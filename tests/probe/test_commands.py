"""The fresh run's command is made out of the user's words, the resumed one's out of that."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpt_doctor.errors import UsageError
from ckpt_doctor.probe.commands import resumed, split_script, started

TORCHRUN = ("torchrun", "--nproc-per-node", "2", "train.py", "--out", "x.py")


@pytest.mark.parametrize(
    ("command", "resume_args", "after_args", "expected"),
    [
        (("python", "train.py", "--lr", "1"), None, None, ("python", "train.py", "--lr", "1")),
        (
            ("python", "train.py", "--lr", "1"),
            "--resume {checkpoint}",
            None,
            ("python", "train.py", "--lr", "1", "--resume", "a b.pt"),
        ),
        (
            ("python", "train.py"),
            "--resume={checkpoint} --name 'two words'",
            None,
            ("python", "train.py", "--resume=a b.pt", "--name", "two words"),
        ),
        (
            ("python", "train.py", "--lr", "1"),
            None,
            "-r {checkpoint}",
            ("python", "train.py", "-r", "a b.pt"),
        ),
        (TORCHRUN, None, "-r {checkpoint}", (*TORCHRUN[:4], "-r", "a b.pt")),
        (TORCHRUN, "-r {checkpoint}", None, (*TORCHRUN, "-r", "a b.pt")),
        (
            ("python", "-m", "package.train", "x"),
            None,
            "--again",
            ("python", "-m", "package.train", "--again"),
        ),
        (
            ("python", "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "package.train", "x"),
            None,
            "--again",
            ("python", "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "package.train", "--again"),
        ),
        (
            ("python", "-m", "accelerate.commands.launch", "train.py", "x"),
            None,
            "",
            ("python", "-m", "accelerate.commands.launch", "train.py"),
        ),
    ],
)
def test_resumed(
    command: tuple[str, ...], resume_args: str | None, after_args: str | None, expected: tuple[str, ...]
) -> None:
    """A template is appended, or replaces the script's arguments behind any launcher; words stay whole."""
    assert resumed(command, resume_args, after_args, "a b.pt") == expected


@pytest.mark.parametrize(
    ("command", "resume_args", "after_args", "words"),
    [
        (("python", "train.py"), "a", "b", "exclude each other"),
        (("./train", "x"), None, "b", "no script is found in: ./train x"),
        (("python", "train.py"), "--resume '", None, "cannot be split"),
        (("python", "train.py"), None, "--resume '", "cannot be split"),
    ],
)
def test_what_makes_no_command(
    command: tuple[str, ...], resume_args: str | None, after_args: str | None, words: str
) -> None:
    """Templates that contradict each other or cannot be read are told."""
    with pytest.raises(UsageError, match=words):
        resumed(command, resume_args, after_args, "c.pt")


def test_split_script() -> None:
    """A command falls into the part up to its script, and the script's own arguments."""
    assert split_script(TORCHRUN) == (TORCHRUN[:4], ("--out", "x.py"))
    assert split_script(("python", "-u", "-m", "train")) == (("python", "-u", "-m", "train"), ())
    with pytest.raises(UsageError):
        split_script(("python", "-m"))


def test_what_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python code runs with this Python, other programs as they are; what is not there is told before."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    assert started(["train.py", "--lr", "1"]) == (sys.executable, "train.py", "--lr", "1")
    assert started(["-m", "train"]) == (sys.executable, "-m", "train")
    assert started(["sh", "train.sh"]) == ("sh", "train.sh")
    for words, what in (
        ([], "no script to run"),
        (["-m"], "-m needs"),
        (["none.py"], "none.py: no such file"),
        (["nonesuch"], "nonesuch: no such command"),
    ):
        with pytest.raises(UsageError, match=what):
            started(words)
