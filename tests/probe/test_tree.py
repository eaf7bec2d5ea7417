"""All processes of a run are stopped and continued together."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import psutil
import pytest

from ckpt_doctor.probe import tree

TREE = """
import os, sys, time
for session in (False, True):
    if os.fork() == 0:
        if session:
            os.setsid()
        if os.fork() == 0:
            pass
        while True:
            time.sleep(0.01)
while True:
    time.sleep(0.01)
"""


@pytest.fixture
def parent() -> Iterator[int]:
    """A process with five descendants below it, some in a session of their own."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TREE!r}])"
    root = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 30
    while len(psutil.Process(root.pid).children(recursive=True)) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield root.pid
    for process in [*psutil.Process(root.pid).children(recursive=True), psutil.Process(root.pid)]:
        process.kill()
    root.wait()


def wait_until_stopped(processes: Sequence[psutil.Process]) -> None:
    """Wait until these are stopped: a signal takes its time."""
    deadline = time.monotonic() + 10
    while any(process.status() != psutil.STATUS_STOPPED for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def states(pid: int) -> set[str]:
    """In what states the descendants are."""
    return {process.status() for process in psutil.Process(pid).children(recursive=True)}


def test_stop_and_proceed(parent: int) -> None:
    """Every descendant is stopped, whatever its process group, the root is not; then all go on."""
    tree.stop(parent)
    wait_until_stopped(psutil.Process(parent).children(recursive=True))
    assert psutil.Process(parent).status() != psutil.STATUS_STOPPED
    tree.stop(parent)
    tree.proceed(parent)
    assert psutil.STATUS_STOPPED not in states(parent)


def test_those_known_are_stopped_first(parent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those known are stopped before others are looked for; those are stopped, too."""
    known = tree.proceed(parent)
    assert len(known) == 5
    look, running = tree._below, list[int]()

    def looked(root: int) -> list[psutil.Process]:
        wait_until_stopped(known[1:])
        running.extend(p.pid for p in look(root) if p.status() != psutil.STATUS_STOPPED)
        return look(root)

    monkeypatch.setattr(tree, "_below", looked)
    tree.stop(parent, known[1:])
    assert set(running) == {known[0].pid}
    wait_until_stopped(known)
    tree.proceed(parent)


def test_a_tree_that_is_gone() -> None:
    """Stopping what has ended does nothing."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    tree.stop(process.pid)
    tree.proceed(process.pid)
