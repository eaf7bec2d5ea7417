"""Scalars for TensorBoard, read back from the files that were written."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.builders import CONTROL_STEPS, RESUMED_STEPS, SAVED_AT
from tests.report.sample import inspect_report, measured_report

pytest.importorskip("tensorboardX")

from tensorboardX.proto.event_pb2 import Event

from ckpt_doctor.report.tensorboard import write


def scalars(folder: Path) -> dict[str, dict[int, float]]:
    """The values of each tag by step, from a folder's only event file.

    A record is its length (8 bytes), a checksum (4), the event and another checksum (4).
    """
    (file,) = folder.iterdir()
    assert "tfevents" in file.name
    data, at, found = file.read_bytes(), 0, dict[str, dict[int, float]]()
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        event = Event.FromString(data[at + 12 : at + 12 + length])
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
        at += 16 + length
    return found


def test_both_runs_over_relative_steps(tmp_path: Path) -> None:
    """Each run is one of TensorBoard's, with its step times and parts from the save or the resume on."""
    report = measured_report()
    assert report.comparison is not None
    write(report, tmp_path / "board")
    before, after = (scalars(tmp_path / "board" / f"20231114-221320-{arm}") for arm in ("before", "after"))
    assert list(before["step_s"]) == list(range(CONTROL_STEPS - SAVED_AT))
    assert list(after["step_s"]) == list(range(RESUMED_STEPS))
    expected = report.comparison.after.rank.steps.step_s(7)
    assert after["step_s"][7] == pytest.approx(expected, rel=1e-6)
    assert after["parts/data_wait_s"][7] == pytest.approx(0.009, rel=1e-6)
    assert set(after["counters/batches"].values()) == {1.0}


def test_an_inspection_has_no_runs(tmp_path: Path) -> None:
    """Without runs the folder is empty, also where it was there before."""
    for _ in range(2):
        write(inspect_report(), tmp_path / "board")
    assert list((tmp_path / "board").iterdir()) == []
