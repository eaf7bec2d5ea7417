"""Samples a run's process tree and the machine in the background."""

from __future__ import annotations

import threading
import time

from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.signals.samplers import host
from ckpt_doctor.signals.samplers.process_tree import TreeSampler

EVERY_S = 0.1


class Sampler:
    """Writes a sample of the tree below ``root`` about ten times a second, and whenever asked."""

    def __init__(self, root: int, recording: RecordingWriter, *, every_s: float = EVERY_S) -> None:
        self._tree = TreeSampler(root)
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
            now_s = time.perf_counter()
            self._recording.add_sample(self._tree.sample(now_s), host.sample(now_s))

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

    def _run(self) -> None:
        while not self._end.wait(self._every_s):
            if self._running.wait() and not self._end.is_set():
                self.now()
