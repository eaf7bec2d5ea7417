"""A wait ends with what was waited for, or with one line on why it did not come."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.errors import ScriptError
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.probe.waits import Waits

SCRIPT = """
import os, sys, torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    model(torch.zeros(1, 2)).sum().backward()
    optimizer.step()
    if step in (5, 9) and sys.argv[2] == "saves":
        torch.save({"model": model.state_dict(), "pad": torch.zeros(100)}, f"{step}.pt")
    if step == 5 and sys.argv[2] == "async":
        from torch.distributed.checkpoint import async_save
        state = {"model": model.state_dict(), "pad": torch.zeros(1 << 25)}
        async_save(state, checkpoint_id="5", no_dist=True)
    if step == 5 and sys.argv[2] == "thread":
        import threading
        threading.Thread(target=torch.save, args=({"pad": torch.zeros(1 << 27)}, "5.pt")).start()
raise SystemExit(int(sys.argv[3]))
"""
Start = Callable[..., Arm]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a script that takes so many steps, with or without saves, and ends with an exit code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    arms: list[Arm] = []

    def call(steps: int, saves: str = "none", code: int = 0, **options: Any) -> Arm:
        folder = tmp_path / "before"
        asked = AgentOptions(recording=str(folder), watch_files=True, **options)
        command = [sys.executable, "train.py", str(steps), saves, str(code)]
        arms.append(Arm("before", command, folder, asked, os.environ, {}))
        arms[-1].start()
        return arms[-1]

    yield call
    for arm in arms:
        arm.end()


def waits(**request: Any) -> Waits:
    """Waits of a request."""
    return Waits(ProbeRequest(command=("train.py",), **request), lambda what, done: None)


def test_one_save_after_the_other(start: Start, tmp_path: Path) -> None:
    """The run is held at each, at the end of the step that follows the update: the save is a part of that."""
    arm = start(10**6, "saves", hold_on_save=True)
    patient = waits(save_timeout_s=60.0)
    patient.for_first_step(arm)
    assert patient.for_save(arm, 0.0) == (tmp_path / "5.pt", 6)
    assert patient.for_next_save(arm) == 10
    assert arm.steps() == 11


def test_a_save_in_the_background(start: Start, tmp_path: Path) -> None:
    """The run is held once it is written, whole: its metadata come last."""
    arm = start(10**6, "async", hold_on_save=True)
    patient = waits(save_timeout_s=60.0)
    patient.for_first_step(arm)
    assert patient.for_save(arm, 0.0) == (tmp_path / "5", 6)
    assert (tmp_path / "5" / ".metadata").exists()
    assert arm.steps() == 7


@pytest.mark.parametrize("pattern", [None, "*.pt"])
def test_a_save_in_a_thread_of_the_script(start: Start, tmp_path: Path, pattern: str | None) -> None:
    """It is waited for until it is whole."""
    arm = start(10**6, "thread", hold_on_save=pattern is None)
    patient = waits(save_timeout_s=60.0, checkpoint_path=pattern)
    patient.for_first_step(arm)
    path, step = patient.for_save(arm, 0.0)
    assert path == tmp_path / "5.pt"
    assert step >= 6
    assert set(torch.load(path, mmap=True)) == {"pad"}


def test_so_many_steps(start: Start) -> None:
    """The run is held after them."""
    arm = start(10**6, hold_at=7)
    waits(save_timeout_s=60.0).for_steps(arm, 7)
    assert arm.steps() == 7


def test_no_first_step(start: Start) -> None:
    """A run that ends before its first step is told with how it ended."""
    arm = start(0, code=3)
    with pytest.raises(ScriptError, match="the fresh run ended with exit code 3 before its first optimizer"):
        waits(first_step_timeout_s=60.0).for_first_step(arm)


@pytest.mark.parametrize(
    ("steps", "code", "timeout_s", "what"),
    [
        (4, 0, 60.0, "the fresh run ended after 4 steps without a save that was seen"),
        (4, 7, 60.0, "the fresh run ended with exit code 7 before it saved"),
        (10**6, 0, 1.0, "no checkpoint save was seen within 1 s"),
    ],
)
def test_no_save(start: Start, steps: int, code: int, timeout_s: float, what: str) -> None:
    """It is said how the run ended, or how long was waited."""
    arm = start(steps, code=code, hold_on_save=True)
    patient = waits(save_timeout_s=timeout_s, first_step_timeout_s=60.0)
    patient.for_first_step(arm)
    with pytest.raises(ScriptError, match=what):
        patient.for_save(arm, 0.0)


def test_steps_that_are_not_taken(start: Start) -> None:
    """A run that ends, or takes too long, before it has taken them is told with how far it came."""
    arm = start(3, hold_at=10)
    with pytest.raises(ScriptError, match=r"fewer than 10 steps \(3\)"):
        waits(save_timeout_s=60.0).for_steps(arm, 10)
