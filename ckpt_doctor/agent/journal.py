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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_doctor.facts.recording import JOURNAL_KIND, JOURNAL_VERSION
from ckpt_doctor.signals.clock import OBSERVER

if TYPE_CHECKING:
    from ckpt_doctor.signals.contract import Digest


@dataclass(slots=True)
class StepLine:
    """A step as it was measured; it becomes a line of the journal when that is written."""

    index: int
    t_start_s: float
    t_end_s: float
    totals_s: list[float]
    """As the clock gives them: seconds by part, then the observer's."""
    counters: dict[str, float]
    digests: Sequence[tuple[str, Digest]]
    """What fed the step: the letter of its kind, and the digest or what works it out."""

    def text(self) -> str:
        """The line as JSON; put together here in less than half the time that an encoder takes for it."""
        words = [f"{kind}:{made if isinstance(made, str) else made()}" for kind, made in self.digests]
        digests = f',"{" ".join(words)}"' if words else ""
        times_s = self.t_start_s, self.t_end_s, *self.totals_s
        return _STEP % (self.index, *times_s, _encode(self.counters), digests)


_STEP = f'["s",%d,%.7f,%.7f,[{",".join(["%.7f"] * OBSERVER)}],%.7f,%s%s]'
_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode


class Journal:
    """Appends lines to one process's journal; what was added is on disk after ``flush``."""

    def __init__(self, path: Path, header: dict[str, object]) -> None:
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644
        )
        self._pending: list[object] = [{"kind": JOURNAL_KIND, "version": JOURNAL_VERSION, **header}]
        self._full = False

    def add(self, line: object) -> None:
        """Add one line, to be written later."""
        if not self._full:
            self._pending.append(line)

    def flush(self) -> None:
        """Write what was added since the last time, in one call.

        A disk that is full ends the journal, not the training.
        """
        if not self._pending:
            return
        lines, self._pending = self._pending, []
        text = "\n".join(line.text() if isinstance(line, StepLine) else _encode(line) for line in lines)
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
