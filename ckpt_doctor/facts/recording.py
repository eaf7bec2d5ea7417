"""The names that the writers of a recording and its reader share."""

from __future__ import annotations

RECORDING_KIND, RECORDING_VERSION = "ckpt-doctor recording", 2
"""What the header of a recording folder says of it."""
JOURNAL_KIND, JOURNAL_VERSION = "ckpt-doctor journal", 2
"""What the first line of one process's journal says of it."""
HEADER, TRAILER, SAMPLES, TURNS = "recording.json", "trailer.json", "samples.jsonl", "turns.jsonl"
"""Files of a recording folder that are written from outside the run."""
FILES = "files.log"
"""Which files the run's processes read and wrote (see agent.files), where that was watched."""
PART_PREFIX = "part-"
"""Folders in a recording of a job that was started in several parts: each is a recording folder."""
RECORDING = "recording"
"""Kind of a run that was recorded; key of ``not_measured`` where one was read from other evidence."""
HOLD = "_hold_where_wanted"
"""The agent's function in which a process stands between its turns; newer Pythons name its class as well."""
