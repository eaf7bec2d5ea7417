"""Processes that an earlier run left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ckpt_doctor.facts.run import LeftOver
from ckpt_doctor.signals.samplers.left_overs import LeftOverFinder

RUN = """
import os, sys
child = os.fork()
if child:
    print(child, flush=True)
    sys.stdin.readline()
    os._exit(1)
os.setsid()
for descriptor in (0, 1):
    os.close(descriptor)
while True:
    pass
"""
"""A run that ends when it is told to, and the worker that it leaves behind, which goes on working."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who becomes the parent is Linux's")


class Run:
    """A run of a script with one worker."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "train.py"
        self.script.write_text(RUN)
        command = [sys.executable, "train.py"]
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.worker = int(self.process.stdout.readline())

    def crash(self) -> None:
        """End the run, and wait until its worker has another parent."""
        self.process.communicate("\n")
        deadline = time.monotonic() + 30
        while psutil.Process(self.worker).ppid() == self.process.pid:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run that still lives, and of which nothing is left in the end."""
    started = Run(tmp_path)
    yield started
    with contextlib.suppress(ProcessLookupError):
        os.kill(started.worker, signal.SIGKILL)
    started.process.kill()
    started.process.communicate()


def _adopting(run: Run) -> int:
    """Who has become the worker's parent: the machine's first process, or one that adopts."""
    return psutil.Process(run.worker).ppid()


def _finder(run: Run, script: str | None = None) -> LeftOverFinder:
    # Where a process above this one adopts orphans, it takes the place of the root.
    folder = run.script.parent
    return LeftOverFinder(_adopting(run), [sys.executable, script or str(run.script)], str(folder))


def test_a_worker_whose_run_has_died_is_found_once(run: Run) -> None:
    """It runs the same script, though it was started by a relative name; its CPU time counts from then on."""
    run.crash()
    finder = _finder(run)
    (found,) = finder.look()
    assert isinstance(found, LeftOver)
    assert (found.pid, found.holds_gpu) == (run.worker, False)
    assert found.command.endswith("train.py")
    assert found.rss_bytes > 0
    assert finder.look() == ()
    deadline = time.monotonic() + 30
    while finder.cpu_s() < 0.05:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_cpu_time_is_kept_when_it_ends(run: Run) -> None:
    """What a process has used does not go away with it."""
    run.crash()
    finder = _finder(run)
    finder.look()
    deadline = time.monotonic() + 30
    while (used := finder.cpu_s()) < 0.05:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(run.worker, signal.SIGSTOP)
    used = finder.cpu_s()
    victim = psutil.Process(run.worker)
    victim.kill()
    while victim.is_running() and victim.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert finder.cpu_s() >= used - 0.02


def test_a_worker_of_a_run_that_lives_is_none(run: Run) -> None:
    """Its parent waits for it."""
    finder = LeftOverFinder(os.getppid(), [sys.executable, str(run.script)], str(run.script.parent))
    assert run.worker not in [left.pid for left in finder.look()]


def test_an_orphan_of_another_script_is_none(run: Run, tmp_path: Path) -> None:
    """Machines are full of detached processes."""
    run.crash()
    assert run.worker not in [left.pid for left in _finder(run, str(tmp_path / "other.py")).look()]


def test_what_the_root_itself_started_is_none(tmp_path: Path) -> None:
    """The run's own first process belongs to whoever waits for the root."""
    script = tmp_path / "train.py"
    script.write_text("import sys; sys.stdin.readline()")
    middle = f"import subprocess, sys; subprocess.run([sys.executable, {str(script)!r}])"
    root = subprocess.Popen([sys.executable, "-c", middle], stdin=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 30
        while not psutil.Process(root.pid).children():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        found = LeftOverFinder(root.pid, [sys.executable, str(script)], str(tmp_path)).look()
        assert psutil.Process(root.pid).children()[0].pid not in [left.pid for left in found]
    finally:
        root.communicate("\n")


def test_before_the_root_has_started_anything_it_has_adopted_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that appears while the processes are looked through is the run itself."""
    run.crash()
    finder = _finder(run)
    monkeypatch.setattr(finder, "_started_by_root", lambda: None)
    found = [left.pid for left in finder.look()]
    assert (run.worker in found) == (_adopting(run) == 1)
