"""Event files of TensorBoard, in a folder or alone, as every framework's SummaryWriter leaves them.

A step takes the wall time between two entries of one tag, over the steps between them. Files that overlap
in time belong to one run; the folders of the Hugging Face Trainer (``runs/...``) and of Lightning
(``lightning_logs/version_N``) are found below the one that was given.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.columns import field_of, is_elsewhere, is_rate, is_step_rate, normalised
from ckpt_doctor.readers.event_files import Scalar, is_event_file, records, scalars
from ckpt_doctor.readers.evidence import Evidence, Hints, TraceFile
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.step_log import MIN_POINTS, Log, runs_of
from ckpt_doctor.readers.text import clean

NAME = "TensorBoard folder"
ORDER = 20
IN_FOLDERS = True

_MAX_TAGS = 64
_MAX_POINTS = 1 << 16
"""Entries that are kept of a tag: of more, every second, fourth, ... one."""


@dataclass(eq=False, repr=False)
class _Track:
    """The entries of one tag, evenly thinned out where they are many."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    walls_s: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    every: int = 1
    seen: int = 0

    def add(self, scalar: Scalar) -> None:
        if self.seen % self.every == 0:
            self.steps.append(scalar.step)
            self.walls_s.append(scalar.wall_s)
            self.values.append(scalar.value)
            if len(self.steps) >= _MAX_POINTS:
                self.steps, self.walls_s = self.steps[::2], self.walls_s[::2]
                self.values, self.every = self.values[::2], 2 * self.every
        self.seen += 1


@dataclass(eq=False, repr=False)
class _Writer:
    """What one event file, or several that were written at the same time, tell."""

    tracks: dict[str, _Track]
    start_s: float
    end_s: float


def claims(file: TraceFile, hints: Hints) -> bool:
    """A record whose length has the right checksum, with the version of event files."""
    return is_event_file(file.head)


def read(evidence: Evidence) -> list[RunRecord]:
    """See ``traces``.

    Raises:
        Malformed: A file is damaged, or there are no entries at several steps.
    """
    writers = [writer for file in evidence.files if (writer := _read_file(file)) is not None]
    runs = [run for writer in _joined(writers) for run in _runs(writer, evidence.path)]
    if not runs:
        raise Malformed(f"no scalar in it was logged at {MIN_POINTS} steps or more")
    return runs


def _runs(writer: _Writer, path: str) -> list[RunRecord]:
    """The runs in what was written together: by the tag with the most entries."""
    tags = [tag for tag in writer.tracks if not is_elsewhere(tag)]
    tags = [tag for tag in tags if not normalised(tag).endswith("epoch")] or tags
    if not tags:
        return []
    clock = max(tags, key=lambda tag: (len(writer.tracks[tag].steps), "loss" in tag))
    log = Log()
    rows: dict[int, tuple[dict[str, float], dict[str, float]]] = {}
    for tag in tags:
        found = field_of(tag)
        told = found if found is not None and found.name not in ("step", "time_s") else None
        if is_step_rate(tag):
            log.step_rates.add(tag)
        for step, value in zip(writer.tracks[tag].steps, writer.tracks[tag].values, strict=True):
            if told is not None:
                rows.setdefault(step, ({}, {}))[0].setdefault(told.name, value * told.factor)
            if is_rate(tag):
                rows.setdefault(step, ({}, {}))[1][tag] = value
    track = writer.tracks[clock]
    for step, wall_s in zip(track.steps, track.walls_s, strict=True):
        values, rates = rows.pop(step, ({}, {}))
        log.add({"step": step, "time_s": wall_s, **values}, rates)
    for step in sorted(rows):
        if len(track.steps) and step >= track.steps[-1]:
            log.add({"step": step, **rows[step][0]}, rows[step][1])
    return runs_of(log, path, NAME)


def _joined(writers: Sequence[_Writer]) -> list[_Writer]:
    """Writers that wrote at the same time made into one; the others in the order of their times."""
    joined: list[_Writer] = []
    for writer in sorted(writers, key=lambda each: each.start_s):
        if joined and writer.start_s < joined[-1].end_s:
            last = joined[-1]
            for tag, track in writer.tracks.items():
                if tag not in last.tracks or len(last.tracks[tag].steps) < len(track.steps):
                    last.tracks[tag] = track
            last.end_s = max(last.end_s, writer.end_s)
        else:
            joined.append(writer)
    return joined


def _read_file(file: TraceFile) -> _Writer | None:
    """What a file tells; None where it has no scalars."""
    tracks: dict[str, _Track] = {}
    try:
        for record in records(file.chunks()):
            for scalar in scalars(record):
                track = tracks.get(scalar.tag)
                if track is None:
                    if len(tracks) >= _MAX_TAGS and not _is_told(scalar.tag):
                        continue
                    track = tracks[scalar.tag] = _Track()
                track.add(scalar)
    except Malformed as error:
        shown = f"{clean(file.name)}: " if file.name else ""
        raise Malformed(f"{shown}{error.why}", error.hint) from error
    walls = [wall_s for track in tracks.values() for wall_s in (track.walls_s[0], track.walls_s[-1])]
    return _Writer(tracks, min(walls), max(walls)) if walls else None


def _is_told(tag: str) -> bool:
    """Whether a tag's values are needed, and not only its times."""
    return field_of(tag) is not None or is_rate(tag)
