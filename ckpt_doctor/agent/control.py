"""The few numbers that a training process and the probe share while the process runs.

One small memory-mapped file a process, named ``control-PID``. Each side writes only its own fields,
but for ``hold_at``, which the agent sets itself where it waits after a save. Every field is one
aligned 64-bit word, so no lock is needed.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

NEVER = 2**63
"""A ``hold_at`` that no step reaches."""

_FIELDS = (
    "pid",  # agent: the process
    "rank",  # agent: its rank
    "steps",  # agent: steps that have ended
    "held",  # agent: 1 while the process waits at a step's end
    "hold_at",  # probe: wait at the end of the step that makes ``steps`` this number
    "hold_on_save",  # probe: 1 to wait at the end of each step in which a checkpoint was saved
    "fingerprints",  # probe: how many fingerprints it has asked for
)
PLACES = {name: i for i, name in enumerate(_FIELDS)}
"""Where each field lies among ``Control.words``."""
_SIZE = 8 * len(_FIELDS)
PREFIX = "control-"


class Control:
    """One process's control file, seen from either side."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            if create:
                os.truncate(descriptor, _SIZE)
            self._map = mmap.mmap(descriptor, _SIZE)
            self.words = memoryview(self._map).cast("Q")
        finally:
            os.close(descriptor)

    def get(self, field: str) -> int:
        """Read a field."""
        return self.words[PLACES[field]]

    def put(self, field: str, value: int) -> None:
        """Write a field."""
        self.words[PLACES[field]] = value

    def close(self) -> None:
        """Give the mapping back."""
        self.words.release()
        self._map.close()
