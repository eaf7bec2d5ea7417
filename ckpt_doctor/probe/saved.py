"""Finds out what a script saved: the one file or folder that a resume will be given."""

from __future__ import annotations

import glob
import json
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ckpt_doctor.facts.moments import TAKE

MIN_BYTES = 128
"""Files smaller than this hold no state of a run."""

CLOCK_SLACK_S = 0.05
"""File systems stamp files with a coarser clock than the one that events carry."""

SAME_SIZE_RATIO = 1.02
"""Two files closer than this in size are the same state saved twice (last.pt and best.pt)."""


@dataclass(frozen=True)
class Save:
    """One save that the agent saw."""

    path: str | None
    """None where the script saved into a buffer."""
    step: int
    since_unix_s: float
    """When the step before it ended, or a thread began it: nothing that belongs to it was written earlier."""
    beside: bool
    """Whether a thread of the script made it, beside the training."""


def saves(journals: Iterable[Path]) -> list[Save]:
    """The saves after the first step that the training processes' journals tell of, in order."""
    found: list[Save] = []
    for journal in journals:
        lines = _whole_lines(journal)
        ends_s = _step_ends_s(lines)
        for line in lines:
            if line.startswith('["e","save"'):
                _, _, end_s, step, duration_s, fields = json.loads(line)
                if 0 < step <= len(ends_s):
                    beside = bool(fields.get("beside"))
                    since_s = end_s - duration_s if beside else ends_s[step - 1]
                    found.append(Save(fields.get("path"), step, since_s + _offset_s(lines), beside))
    return sorted(found, key=lambda save: save.step)


def step_at(journals: Iterable[Path], unix_s: float) -> int | None:
    """The step that was under way at a moment; None where no journal reaches that far."""
    for journal in journals:
        lines = _whole_lines(journal)
        ends_s = _step_ends_s(lines)
        step = bisect_left(ends_s, unix_s - _offset_s(lines))
        if step < len(ends_s):
            return step
    return None


def _whole_lines(journal: Path) -> list[str]:
    """The lines that have been written to their ends: the process may be writing."""
    return journal.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()


def _step_ends_s(lines: Sequence[str]) -> list[float]:
    """When the steps ended that a journal's lines (agent.journal) tell of."""
    moments = (json.loads(line) for line in lines if line.startswith('["m"'))
    return [1e-9 * end_ns for line in moments for end_ns in line[1][TAKE]]


def _offset_s(lines: Sequence[str]) -> float:
    return float(json.loads(lines[0])["unix_minus_monotonic_s"]) if lines else 0.0


def checkpoint_of(
    saved: Sequence[Save], written: Sequence[str], moves: Sequence[Sequence[str]]
) -> Path | None:
    """The file or folder that a group of saves made.

    Args:
        saved: The saves of one step.
        written: Paths opened for writing by Python code: where saves into buffers ended up.
        moves: Renames as (old, new): an atomic save writes beside its target first.

    Returns:
        The one file; or the folder that several files were saved to, if it was made for them; else
        the largest file. None where nothing of what was saved is there.
    """
    since_unix_s = min((save.since_unix_s for save in saved), default=0.0) - CLOCK_SLACK_S
    candidates = [save.path for save in saved if save.path is not None]
    if len(candidates) < len(saved):
        candidates += written
    places = {_where_now(path, moves) for path in candidates}
    folders = [path for path in places if path.is_dir() and changed_since(path, since_unix_s)]
    files = [path for path in places if _is_state(path) and changed_since(path, since_unix_s)]
    if len(folders) == 1 and all(folders[0] in path.parents for path in files):
        return folders[0]
    if not files:
        return None
    files.sort(key=lambda path: path.stat().st_size, reverse=True)
    folder = Path(os.path.commonpath([path.parent for path in files]))
    if len(files) > 1 and not _same_state(files) and _made_since(folder, since_unix_s):
        return folder
    return files[0]


def newest(pattern: str, since_unix_s: float) -> Path | None:
    """The newest match of a glob that was changed since then; None where there is none."""
    matches = [Path(match) for match in glob.glob(os.path.expanduser(pattern), recursive=True)]
    fresh = [path for path in matches if changed_since(path, since_unix_s)]
    return max(fresh, key=lambda path: path.stat().st_mtime, default=None)


def state_on_disk(path: Path) -> tuple[int, int]:
    """Bytes of a file, or of all files of a folder, and when the last of them changed, in ns since 1970."""
    size_bytes = changed_ns = 0
    for file in path.rglob("*") if path.is_dir() else [path]:
        with suppress(OSError):
            status = file.stat()
            size_bytes += status.st_size
            changed_ns = max(changed_ns, status.st_mtime_ns)
    return size_bytes, changed_ns


def _where_now(path: str, moves: Sequence[Sequence[str]]) -> Path:
    """Follow the renames of a file, or of a folder above it."""
    for old, new in moves:
        if path == old:
            path = new
        elif path.startswith(old + os.sep):
            path = new + path[len(old) :]
    return Path(path)


def _is_state(path: Path) -> bool:
    return path.is_file() and path.stat().st_size >= MIN_BYTES


def changed_since(path: Path, unix_s: float) -> bool:
    """Whether a file was changed then or later; one that is not there was not."""
    try:
        return path.stat().st_mtime >= unix_s
    except OSError:
        return False


def _same_state(files: Sequence[Path]) -> bool:
    """Whether the largest files are one state saved under several names."""
    first, second = files[:2]
    return first.suffix == second.suffix and first.stat().st_size <= SAME_SIZE_RATIO * second.stat().st_size


def _made_since(folder: Path, unix_s: float) -> bool:
    """Whether all that a folder holds was written since then."""
    entries = [entry for entry in folder.rglob("*") if entry.is_file()]
    return all(changed_since(entry, unix_s) for entry in entries)
