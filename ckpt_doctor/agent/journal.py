"""The recording of one training process: one JSON array or object a line.

The first line is a header, the last one a trailer; a journal without a trailer belongs to a
process that was killed, and is readable up to its last whole line.

- ``["m", [[nanoseconds] by kind], [[[shape], digest or null] by batch]]``: moments (facts.moments) since the
  last such line, on the machine's monotonic clock; digests are words like ``i:1a2b3c4d``: of indices (i), of
  a batch (b), of the model's input (m)
- ``["c", step, {counter: n}]``: what was counted in a step beside that
- ``["d", step, [digests]]``: what identifies batches that reached a step by other ways than a loader's
- ``["e", signal, t_s, step, duration_s, {fields}]``: an event
- ``["f", step, {name: value}]``: a fingerprint
- ``["n", signal, why]``: a signal that is not measured
- ``["t", ended_by, t_s]``: the trailer
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ckpt_doctor.facts.recording import JOURNAL_KIND, JOURNAL_VERSION


def told(entry: object) -> str:
    """An entry's line. What it holds that has to be worked out (a digest) is worked out now."""
    return _encode(entry)


def _value(item: object) -> object:
    return item() if callable(item) else str(item)


# Nothing that is written down holds itself, and looking for that takes half as long again.
_encode = json.JSONEncoder(default=_value, separators=(",", ":"), check_circular=False).encode


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
        """Add what becomes a line when it is written, or a line that is ``told`` already."""
        if not self._full:
            self._pending.append(entry)

    def flush(self) -> None:
        """Write what was added since the last time, in one call.

        A disk that is full ends the journal, not the training.
        """
        if not self._pending:
            return
        entries, self._pending = self._pending, []
        text = "\n".join(entry if isinstance(entry, str) else told(entry) for entry in entries)
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
