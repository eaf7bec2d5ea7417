"""A process tree's counters add up, and never go down."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from ckpt_doctor.facts.run import ProcessSample
from ckpt_doctor.signals.samplers.process_tree import TreeSampler

WORKING = """
import os, subprocess, sys, time
def work():
    total = 0
    for i in range(3_000_000):
        total += i
child = os.fork()
if child == 0:
    work()
    print("worked", flush=True)
    sys.stdin.readline()
    os._exit(0)
os.waitpid(child, 0)
print("over", flush=True)
data = open(sys.argv[1], "rb").read()
print("read", flush=True)
time.sleep(1000)
"""


def sampled(sampler: TreeSampler) -> ProcessSample:
    """A sample, which must be there."""
    sample = sampler.sample(time.perf_counter())
    assert sample is not None
    return sample


@pytest.mark.skipif(sys.platform != "linux", reason="counters of /proc")
def test_a_tree(tmp_path: Path) -> None:
    """Processes below the root are counted; the CPU time of a child that has ended is kept."""
    data = tmp_path / "data"
    data.write_bytes(bytes(2_000_000))
    middle = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    root = subprocess.Popen(
        [sys.executable, "-c", middle, WORKING, str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert root.stdin is not None
        assert root.stdout is not None
        sampler = TreeSampler(root.pid)
        assert root.stdout.readline() == "worked\n"
        two = sampled(sampler)
        root.stdin.write("\n")
        root.stdin.flush()
        assert root.stdout.readline() == "over\n"
        one = sampled(sampler)
        assert root.stdout.readline() == "read\n"
        time.sleep(0.02)
        last = sampled(sampler)
    finally:
        kill_tree(root)
    assert (two.processes, one.processes) == (2, 1)
    assert (two.threads, one.threads) == (2, 1)
    assert two.rss_bytes > one.rss_bytes > 1_000_000
    assert two.cpu_s > 0.02
    assert last.cpu_s >= one.cpu_s >= two.cpu_s
    for name in ("minor_faults", "major_faults", "logical_read_bytes", "physical_read_bytes"):
        counts = [getattr(sample, name) for sample in (two, one, last)]
        assert counts == sorted(counts)
    assert (last.logical_read_bytes or 0) - (two.logical_read_bytes or 0) >= 2_000_000
    assert last.cpus_allowed is not None
    assert last.cpus_allowed >= 1
    assert last.run_queue_s is not None


def test_a_root_that_is_gone() -> None:
    """There is no sample of a tree that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert TreeSampler(process.pid).sample(1.0) is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity is Linux's")
def test_the_narrowest_process_decides() -> None:
    """A run that is bound to one core has one."""
    code = "import os, time; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); time.sleep(1000)"
    middle = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    root = subprocess.Popen([sys.executable, "-c", middle])
    try:
        deadline = time.monotonic() + 30
        sampler = TreeSampler(root.pid)
        while (sample := sampled(sampler)).cpus_allowed != 1:
            assert time.monotonic() < deadline, sample
            time.sleep(0.01)
    finally:
        kill_tree(root)


def kill_tree(root: subprocess.Popen[Any]) -> None:
    """End a process that a test started, and all below it."""
    for process in psutil.Process(root.pid).children(recursive=True):
        process.kill()
    root.kill()
    root.communicate()
