"""Writes what is known about a run from outside into its recording folder.

``recording.json`` is the header, written first; ``trailer.json`` is written last, so a folder
without it belongs to a run that was cut short. Times are seconds on the machine's monotonic clock.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from ckpt_doctor.errors import InputError
from ckpt_doctor.facts.recording import HEADER, RECORDING_KIND, RECORDING_VERSION, SAMPLES, TRAILER, TURNS
from ckpt_doctor.facts.run import HostSample, LeftOver, ProcessSample, Turn


def new_folder(path: Path) -> Path:
    """Make a folder for what is going to be recorded; one that is there already must be empty.

    Returns:
        Its absolute path.

    Raises:
        InputError: It cannot be made, or holds something.
    """
    folder = path.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        in_use = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="give a folder that can be made") from error
    if in_use:
        raise InputError(f"{path} is there already and not empty", hint="give a new folder")
    return folder


class RecordingWriter:
    """One recording folder, from the side of the doctor."""

    def __init__(
        self, path: Path, command: Sequence[str], arm: str | None, options: Mapping[str, object]
    ) -> None:
        self.path = path
        self.command = tuple(command)
        path.mkdir(parents=True, exist_ok=True)
        header = {
            "kind": RECORDING_KIND,
            "version": RECORDING_VERSION,
            "command": list(command),
            "cwd": str(Path.cwd()),
            "host": socket.gethostname(),
            "created_unix_s": time.time(),
            "arm": arm,
            "options": dict(options),
        }
        (path / HEADER).write_text(json.dumps(header, indent=1), encoding="utf-8")
        self._lock = threading.Lock()

    def add_sample(self, process: ProcessSample | None, host: HostSample) -> None:
        """Append one sample of the process tree and the machine."""
        lines = [["host", *astuple(host)]]
        if process is not None:
            lines.append(["tree", *astuple(process)])
        self._append(SAMPLES, lines)

    def add_left_overs(self, found: Sequence[LeftOver]) -> None:
        """Append processes of an earlier run that were found to be alive."""
        if found:
            self._append(SAMPLES, [["left_over", *astuple(left)] for left in found])

    def add_turn(self, turn: Turn) -> None:
        """Append one turn."""
        self._append(TURNS, [["turn", *astuple(turn)]])

    def finish(self, **outcome: object) -> None:
        """Write the trailer: how the run ended, ``origin_step``, ``checkpoint``, ``not_measured``."""
        (self.path / TRAILER).write_text(json.dumps(outcome, indent=1), encoding="utf-8")

    def _append(self, name: str, lines: Sequence[Sequence[object]]) -> None:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        with self._lock, (self.path / name).open("a", encoding="utf-8") as file:
            file.write(text)
