"""Memory has to hold a run, or data, before they are put into it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ckpt_doctor.errors import MachineError
from ckpt_doctor.probe.room import holds_more, warmed

LOADED_BYTES = 50_000_000


@pytest.fixture
def arm() -> Iterator[Any]:
    """A run of one process that holds 50 MB, below a warden of its own."""
    child = f"x = bytearray({LOADED_BYTES}); print(1, flush=True); input()"
    warden = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", warden], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield SimpleNamespace(root=process.pid)
        process.communicate(b"\n")


def free(monkeypatch: pytest.MonkeyPatch, size_bytes: float) -> None:
    """Have the machine say that so much memory is available."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=size_bytes))


def test_a_second_run(arm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs what the first one holds, and some more."""
    assert holds_more(arm)
    free(monkeypatch, LOADED_BYTES)
    assert not holds_more(arm)
    free(monkeypatch, 3 * LOADED_BYTES)
    assert holds_more(arm)
    assert not holds_more(arm, runs=3)


def test_a_run_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of it, and nothing speaks against another one."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    free(monkeypatch, 0)
    gone: Any = SimpleNamespace(root=process.pid)
    assert holds_more(gone)


def test_data_that_memory_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not warmed; checkpoints that no run has read are no data."""
    data, checkpoint, other = tmp_path / "data.bin", tmp_path / "run" / "last.pt", tmp_path / "run" / "old.pt"
    checkpoint.parent.mkdir()
    for path in (data, checkpoint, other):
        path.write_bytes(bytes(1 << 20))
    reader: Any = SimpleNamespace(read_files=lambda: {data})
    view = warmed([data, other], (reader, reader), checkpoint)
    assert view.resident_bytes == 1 << 20
    free(monkeypatch, 1 << 20)
    with pytest.raises(MachineError, match="do not fit into free memory"):
        warmed([data, other], (reader, reader), checkpoint)
