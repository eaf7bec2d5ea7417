"""The recording of one training process: one JSON array or object a line.

The first line is a header, the last one a trailer; a journal without a trailer belongs to a
process that was killed, and is readable up to its last whole line.

- ``["s", index, t_start_s, t_end_s, [seconds by part], observer_s, {counter: n}, digests]``: a step;
  digests are words like ``i:1a2b3c4d``: of indices (i), of a batch (b), of the model's input (m)
- ``["e", signal, t_s, step, duration_s, {fields}]``: an event
- ``["f", step, {name: value}]``: a fingerprint
- ``["n", signal, why]``: a signal that is not measured
- ``["t", ended_by, t_s, hook_s]``: the trailer
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_doctor.facts.recording import JOURNAL_KIND, JOURNAL_VERSION
from ckpt_doctor.signals.clock import OBSERVER

if TYPE_CHECKING:
    from ckpt_doctor.signals.clock import Lap

Step = tuple[int, "Lap"]
"""A step's index, and what was measured of it; it becomes a line when that is written."""

_STEP = f'["s",%d,%.7f,%.7f,[{",".join(["%.7f"] * OBSERVER)}],%.7f,%s%s]'
_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode


def _line(entry: object) -> str:
    return _step(*entry) if type(entry) is tuple else _encode(entry)


def _step(index: int, lap: Lap) -> str:
    """A step's line; put together here in less than half the time that an encoder takes for it."""
    words = [made if isinstance(made, str) else made() for made in lap.digests]
    told = f',"{" ".join(words)}"' if words else ""
    return _STEP % (
        *(index, lap.start_ns * 1e-9, lap.end_ns * 1e-9, *lap.seconds),
        *(_encode(lap.counted), told),
    )


class Journal:
    """Appends lines to one process's journal; what was added is on disk after ``flush``."""

    def __init__(self, path: Path, header: dict[str, object]) -> None:
        """Begin it.

        Args:
            path: The file; it must not be there.
            header: The first line.

        Raises:
            OSError: The file cannot be made.
        """
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644
        )
        self._pending: list[object] = [{"kind": JOURNAL_KIND, "version": JOURNAL_VERSION, **header}]
        self._full = False

    def add(self, entry: object) -> None:
        """Add a step or another line, to be written later."""
        if not self._full:
            self._pending.append(entry)

    def flush(self) -> None:
        """Write what was added since the last time, in one call.

        A disk that is full ends the journal, not the training.
        """
        if not self._pending:
            return
        entries, self._pending = self._pending, []
        text = "\n".join(map(_line, entries))
        data = (text + "\n").encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self._full = True
            sys.stderr.write(f"ckpt-doctor: the recording ends here: {error}\n")

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        os.close(self._descriptor)
