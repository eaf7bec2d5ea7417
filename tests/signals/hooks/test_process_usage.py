"""What the kernel counts for the training process."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import Train
from tests.recorded import MODEL

USAGE = (
    MODEL
    + """
import mmap, time
step()
time.sleep(0.03)
step()
time.sleep(0.03)
memory = mmap.mmap(-1, 1000 * mmap.PAGESIZE)
for page in range(1000):
    memory[page * mmap.PAGESIZE] = 1
step()
total = 0
for i in range(1_000_000):
    total += i
step()
"""
)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no getrusage")
def test_faults_and_cpu_time_of_each_step(train: Train) -> None:
    """New pages are minor faults of the step that touches them, and computing is its CPU time."""
    recorded = train(USAGE)
    faults = recorded.counts("minor_faults")
    assert 500 < (faults[2] or 0) < 3000
    assert (faults[1] or 0) < 500
    user_s = recorded.counts("user_s")
    assert (user_s[3] or 0) > (user_s[1] or 0)
    # What the agent itself does between two steps, as its first fingerprint, is in the later one's CPU time.
    since_last_s = recorded.steps.t_end_s[3] - recorded.steps.t_end_s[2]
    assert (user_s[3] or 0) <= since_last_s + 0.02
    assert all(value is not None and value >= 0 for value in recorded.counts("system_s"))


SHORT = (
    MODEL
    + """
import mmap, time
for _ in range(20): step()
for _ in range(500): optimizer.step()
memory = mmap.mmap(-1, 1000 * mmap.PAGESIZE)
for page in range(1000):
    memory[page * mmap.PAGESIZE] = 1
for _ in range(500): optimizer.step()
time.sleep(0.03)
step()
"""
)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no getrusage")
def test_short_steps_share_a_reading(train: Train) -> None:
    """The first step has its own, steps of microseconds have not, and nothing is lost or counted twice."""
    faults = train(SHORT).counts("minor_faults")
    assert (faults[0] or 0) > 0
    assert 1000 <= sum(count or 0 for count in faults[520:]) < 3000
    assert sum(1 for count in faults[20:] if not count) > len(faults) / 2
