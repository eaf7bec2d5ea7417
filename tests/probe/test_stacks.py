"""Stacks are sampled by py-spy where it may, and their absence is explained where it may not."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckpt_doctor.probe import environment
from ckpt_doctor.probe.stacks import RATE_PER_S, StackSampler

BUSY = """
import sys
def spin():
    total = 0
    while True:
        for i in range(1000):
            total += i
print("ready", flush=True)
spin()
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[int]:
    """A process that is always in one function."""
    (tmp_path / "busy.py").write_text(BUSY)
    process = subprocess.Popen([sys.executable, str(tmp_path / "busy.py")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.communicate()


def test_a_speedscope_file(tmp_path: Path, busy: int, nothing_left: None) -> None:
    """What was sampled is a file that the public viewer opens, with the user's function in it."""
    if not next(a for a in environment.survey() if a.name == "stacks").available:
        pytest.skip("py-spy may not look at processes here")
    stacks = StackSampler(tmp_path)
    stacks.start([(3, busy)])
    assert stacks.running
    time.sleep(1.5)
    stacks.pause()
    stacks.proceed()
    time.sleep(0.2)
    stacks.close()
    assert not stacks.running
    assert stacks.why_not is None
    profile = json.loads((tmp_path / "stacks-rank00003.speedscope.json").read_text())
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert any(frame["name"] == "spin" for frame in profile["shared"]["frames"])
    assert any(sampled["samples"] for sampled in profile["profiles"])


def test_a_process_that_is_gone(tmp_path: Path, nothing_left: None) -> None:
    """py-spy's own words say why there are no stacks."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    stacks = StackSampler(tmp_path)
    stacks.start([(0, process.pid)])
    stacks.close()
    assert stacks.why_not
    assert "\n" not in stacks.why_not


def test_without_py_spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program is not installed, that is the reason, and nothing else happens."""
    monkeypatch.setattr("shutil.which", lambda *args, **kwargs: None)
    stacks = StackSampler(tmp_path)
    stacks.start([(0, 1)])
    stacks.pause()
    stacks.proceed()
    stacks.close()
    assert stacks.why_not == "py-spy is not installed"
    assert not stacks.running


DEEP = """
import sys, threading
def before(depth):
    if depth:
        before(depth - 1)
    while not gone_on:
        pass
def later(depth):
    if depth:
        later(depth - 1)
    while True:
        pass
gone_on = []
sys.setrecursionlimit(10_000)
threading.Thread(target=lambda: gone_on.append(sys.stdin.readline()), daemon=True).start()
print("ready", flush=True)
before(600)
later(600)
"""


def test_samples_that_were_missed_are_taken_before_a_run_goes_on(tmp_path: Path, nothing_left: None) -> None:
    """py-spy makes up for what it missed at once: they would be the first moment of a turn, over and over."""
    if not next(a for a in environment.survey() if a.name == "stacks").available:
        pytest.skip("py-spy may not look at processes here")
    (tmp_path / "deep.py").write_text(DEEP)
    command = [sys.executable, str(tmp_path / "deep.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        stacks = StackSampler(tmp_path)
        stacks.start([(0, process.pid)])
        time.sleep(1.0)
        stacks.pause()
        time.sleep(2.0)
        stacks.proceed()
        went_on_s = time.perf_counter()
        process.stdin.write(b"\n")
        process.stdin.flush()
        time.sleep(0.5)
        stacks.close()
        later_s = time.perf_counter() - went_on_s
        process.kill()
    profile = json.loads((tmp_path / "stacks-rank00000.speedscope.json").read_text())
    later = {i for i, frame in enumerate(profile["shared"]["frames"]) if frame["name"] == "later"}
    main = next(each for each in profile["profiles"] if "MainThread" in each["name"])
    of_later = sum(1 for stack in main["samples"] if later & {*stack})
    assert 0 < of_later < 1.5 * RATE_PER_S * later_s + 30
    assert len(main["samples"]) - of_later > 2.0 * RATE_PER_S  # those that were missed are there
