"""Samples are taken in the background, and whenever something begins or ends."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.probe.sampler import Sampler


@pytest.fixture
def writer(tmp_path: Path) -> RecordingWriter:
    """A recording."""
    return RecordingWriter(tmp_path / "r", [], None, {})


def count(writer: RecordingWriter) -> int:
    """How many samples there are."""
    path = writer.path / "samples.jsonl"
    if not path.exists():
        return 0
    return sum(json.loads(line)[0] == "tree" for line in path.read_text().splitlines())


def test_samples_come_by_themselves(writer: RecordingWriter) -> None:
    """The thread samples until it is closed, with a last sample at the end."""
    sampler = Sampler(os.getpid(), writer, every_s=0.01)
    deadline = time.monotonic() + 20
    while count(writer) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sampler.close()
    total = count(writer)
    assert total >= 4
    time.sleep(0.05)
    assert count(writer) == total


def test_a_paused_run_is_not_sampled(writer: RecordingWriter) -> None:
    """There is one sample at the pause, none during it, and one as the run goes on."""
    sampler = Sampler(os.getpid(), writer, every_s=1000)
    sampler.pause()
    assert count(writer) == 1
    sampler.proceed()
    assert count(writer) == 2
    sampler.close()
    assert count(writer) == 3


def test_a_paused_sampler_can_be_closed(writer: RecordingWriter) -> None:
    """Ending does not wait for a run that stands still."""
    sampler = Sampler(os.getpid(), writer, every_s=0.001)
    sampler.pause()
    time.sleep(0.02)
    paused = count(writer)
    time.sleep(0.05)
    assert count(writer) <= paused + 1
    sampler.close()
    assert count(writer) >= paused + 1
