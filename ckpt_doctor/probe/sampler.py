"""Samples a run's process tree and the machine in the background."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace

from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.signals.samplers import host
from ckpt_doctor.signals.samplers.left_overs import LeftOverFinder
from ckpt_doctor.signals.samplers.process_tree import TreeSampler

EVERY_S = 0.1
SAMPLES_PER_LOOK = 20
"""All processes of the machine are looked at once in so many samples."""


class Sampler:
    """Writes a sample of the tree below ``root`` about ten times a second, and whenever asked."""

    def __init__(self, root: int, recording: RecordingWriter, *, every_s: float = EVERY_S) -> None:
        self._tree = TreeSampler(root)
        self._left_overs = LeftOverFinder(root, recording.command, os.getcwd())
        self._next_look_s = 0.0
        self._recording = recording
        self._every_s = every_s
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._running = threading.Event()
        self._running.set()
        self._thread = threading.Thread(target=self._run, name="ckpt-doctor-sampler", daemon=True)
        self._thread.start()

    def now(self) -> None:
        """Take a sample at once."""
        with self._lock:
            self._look()
            now_s = time.perf_counter()
            machine = replace(host.sample(now_s), left_over_cpu_s=self._left_overs.cpu_s())
            self._recording.add_sample(self._tree.sample(now_s), machine)

    def pause(self) -> None:
        """Take a last sample and none until ``proceed``: a stopped run's counters stand still."""
        self._running.clear()
        self.now()

    def proceed(self) -> None:
        """Take a sample and go on."""
        self.now()
        self._running.set()

    def close(self) -> None:
        """Take a last sample and end."""
        self._end.set()
        self._running.set()
        self._thread.join()
        self.now()

    def _look(self) -> None:
        now_s = time.perf_counter()
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + SAMPLES_PER_LOOK * self._every_s
            self._recording.add_left_overs(self._left_overs.look())

    def _run(self) -> None:
        while not self._end.wait(self._every_s):
            if self._running.wait() and not self._end.is_set():
                self.now()
