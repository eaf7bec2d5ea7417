"""Pauses of the garbage collector."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL, check_parts

COLLECTING = (
    MODEL
    + """
import gc, threading
step()
gc.disable()
step()
gc.collect(); gc.collect(0)
step()
thread = threading.Thread(target=gc.collect)
thread.start(); thread.join()
step()
"""
)


def test_collections_are_counted(train: Train) -> None:
    """Each collection counts in the step that it interrupts, with its time; those of other threads do not."""
    recorded = train(COLLECTING)
    assert recorded.counts("gc_pauses")[1:] == [0, 2, 0]
    pauses_s = recorded.steps.parts["gc"][1:]
    assert pauses_s[0] == pauses_s[2] == 0
    assert 0 < pauses_s[1] < recorded.steps.step_s(2)
    check_parts(recorded.steps)


MANY = (
    MODEL
    + """
import gc
for _ in range(3):
    step()
gc.set_threshold(1000, 20, 30)
held = [[] for _ in range(100_000)]
for _ in range(3):
    step()
"""
)


def test_objects_and_settings(train: Train) -> None:
    """The fingerprint counts what Python has allocated, and holds the collector's settings."""
    first, last = (f.values for f in train(MANY).rank.fingerprints)
    more = last["memory.python_blocks"] - first["memory.python_blocks"]  # type: ignore[operator]
    assert 100_000 <= more < 130_000
    assert (last["gc.enabled"], last["gc.threshold"]) == (True, "1000,20,30")
    assert first["gc.threshold"] != last["gc.threshold"]
