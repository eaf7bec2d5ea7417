"""How much a reader may spend on one checkpoint, whatever the file claims of itself.

A checkpoint can be hostile or damaged. Every reader draws on one ``Budget``, so that files within
files and folders of many files share the same bounds. The figures keep a read below 400 MB of
memory and, on a quiet machine, 5 s of time: a decoded opcode costs at most about 70 bytes, a
container at most about 250, an entry of the memo about 100.
"""

from __future__ import annotations

import time

MAX_PICKLE_BYTES = 96 << 20
"""Longest pickle that is decoded. A checkpoint of 20 000 parameters with Adam has 7 MB."""
MAX_JSON_BYTES = 100_000_000
"""Longest JSON header, the limit that the safetensors library has."""
MAX_OPCODES = 5_000_000
"""Opcodes of all pickles of one checkpoint together."""
MAX_CONTAINERS = 1_000_000
"""Lists, dicts and objects of one pickle."""
MAX_MEMO = 1_500_000
"""Memo entries of one pickle."""
MAX_ENTRIES = 500_000
"""Records of one zip archive."""
MAX_DEPTH = 4
"""Pickles within pickles."""
MAX_NODES = 2_000_000
"""Objects that a walk over a decoded tree visits."""
MAX_TIME_S = 3.5
"""Processor time for one checkpoint, which leaves time for starting, judging and printing. 160 000
tensors take about as long on a slow core. It is not wall time, so that a busy machine or a slow
network does not make a file unreadable."""


class Malformed(Exception):
    """What was read breaks the format's own rules or the limits of this module.

    It carries no path: the entry point adds it and raises a ``CheckpointError``.
    """

    def __init__(self, why: str, hint: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


class Unrecognised(Malformed):
    """The file is no checkpoint, though one of its name could be damaged."""


class Unrelated(Unrecognised):
    """The file is in order and no checkpoint: it may well lie beside one."""


class Foreign(Unrecognised):
    """The file is of another kind, and the reason says which."""


class Budget:
    """What is left to spend on one checkpoint."""

    def __init__(self, seconds: float = MAX_TIME_S, opcodes: int = MAX_OPCODES) -> None:
        self.opcodes = opcodes
        self._seconds = seconds
        self._deadline = time.thread_time() + seconds

    def check_time(self) -> None:
        """Stop where the time is used up.

        Raises:
            Malformed: It is.
        """
        if time.thread_time() > self._deadline:
            raise Malformed(f"too much to decode within {self._seconds:g} s of processor time")

    def spend_opcodes(self, count: int) -> None:
        """Take opcodes off the budget.

        Raises:
            Malformed: None are left, or the time is used up.
        """
        self.opcodes -= count
        if self.opcodes < 0:
            raise Malformed(f"its pickles hold more than {MAX_OPCODES:,} opcodes")
        self.check_time()
