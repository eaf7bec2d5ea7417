"""What tests of several packages share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.recorded import Recorded, Server, record_command

Record = Callable[..., Recorded]
Train = Callable[[str], Recorded]


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Run a Python script under ``ckpt-doctor record``; the same one runs once in a session.

    Called as ``record(source, *arguments, files={name: text}, **environment)``.
    """
    done: dict[object, Recorded] = {}

    def call(source: str, *arguments: str, files: dict[str, str] | None = None, **extra: str) -> Recorded:
        key = (source, arguments, tuple((files or {}).items()), tuple(extra.items()))
        if key not in done:
            folder = tmp_path_factory.mktemp("recorded")
            script = folder / "train.py"
            script.write_text(source)
            for name, text in (files or {}).items():
                (folder / name).write_text(text)
            command = [sys.executable, str(script), *arguments]
            process = record_command(folder, folder / "recording", command, extra)
            done[key] = Recorded(folder / "recording", process)
        return done[key]

    return call


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Train]:
    """Run a script in a process forked from one that has torch; the same one runs once in a session."""
    server = Server(tmp_path_factory.mktemp("server"))
    done: dict[str, Recorded] = {}

    def call(source: str) -> Recorded:
        if source not in done:
            done[source] = server.run(source)
        return done[source]

    yield call
    server.close()


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Check that no process outlives the test: none below this one, and none in the test's folder."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    deadline = time.monotonic() + 5  # a warden whose doctor was killed needs a moment
    while left := _running(tmp_path) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def _running(folder: Path) -> set[int]:
    below = {process.pid for process in psutil.Process().children(recursive=True) if _lives(process)}
    inside = {process.pid for process in psutil.process_iter() if _works_in(process, folder)}
    return (below | inside) - {os.getpid()}


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return folder in (Path(process.cwd()), *Path(process.cwd()).parents)
    except psutil.Error:
        return False
