"""Memory of the training process, its children and its control group."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpt_doctor.signals.hooks import process_memory
from tests.conftest import Train
from tests.recorded import MODEL

HOLDING = (
    MODEL
    + """
import subprocess
for _ in range(3):
    step()
held = torch.ones(50_000_000)
gone = torch.ones(50_000_000)
child = subprocess.Popen(["sleep", "60"])
del gone
for _ in range(3):
    step()
child.kill()
child.wait()
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_is_held_shows_in_the_heap_and_what_is_freed_does_not(train: Train) -> None:
    """200 MB that are alive are counted once, whatever malloc does with what was freed."""
    first, last = (f.values for f in train(HOLDING).rank.fingerprints)
    heap = [values["memory.heap_bytes"] for values in (first, last)]
    if heap == [None, None]:
        pytest.skip("no glibc 2.33")
    assert 190e6 < heap[1] - heap[0] < 260e6  # type: ignore[operator]
    assert last["memory.rss_bytes"] - first["memory.rss_bytes"] > 150e6  # type: ignore[operator]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_children_are_counted(train: Train) -> None:
    """A process that was started is one, with its memory."""
    first, last = (f.values for f in train(HOLDING).rank.fingerprints)
    assert (first["memory.children"], last["memory.children"]) == (0, 1)
    assert 0 < last["memory.children_rss_bytes"] < 50e6  # type: ignore[operator]


def _group(top: Path, **files: str) -> None:
    top.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (top / name.replace("__", ".")).write_text(text)


def test_the_smallest_limit_above_a_process_counts(tmp_path: Path) -> None:
    """Version 2: a group without a limit of its own has that of the group above, with its hits."""
    membership, top = tmp_path / "cgroup", tmp_path / "top"
    membership.write_text("0::/pod/container\n")
    _group(
        top / "pod",
        memory__max="1000\n",
        memory__high="max\n",
        memory__events="low 0\nhigh 2\nmax 7\noom 1\n",
    )
    _group(top / "pod" / "container", memory__max="max\n", memory__high="max\n")
    assert process_memory._limit(membership, top) == (1000, 9)


def test_version_1(tmp_path: Path) -> None:
    """The memory controller has a tree of its own, and writes a limit nobody reaches where there is none."""
    membership, top = tmp_path / "cgroup", tmp_path / "top"
    membership.write_text("9:cpu,cpuacct:/x\n4:memory:/job\n1:name=systemd:/\n")
    _group(top / "memory" / "job", memory__limit_in_bytes="4096\n", memory__failcnt="3\n")
    _group(top / "memory", memory__limit_in_bytes="9223372036854771712\n", memory__failcnt="5\n")
    assert process_memory._limit(membership, top) == (4096, 3)


def test_without_groups_nothing_is_said(tmp_path: Path) -> None:
    """No file, or groups that are mounted elsewhere."""
    assert process_memory._limit(tmp_path / "none", tmp_path) == (None, None)
    (tmp_path / "cgroup").write_text("0::/../..\n")
    assert process_memory._limit(tmp_path / "cgroup", tmp_path / "top") == (None, None)
