"""What tests of several packages share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

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
def nothing_left() -> Iterator[None]:
    """Check that no process of the test outlives it."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    after = psutil.Process().children(recursive=True)
    left = [process for process in after if process.pid not in before and _lives(process)]
    assert not left


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
