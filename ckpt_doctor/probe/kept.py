"""A copy of a checkpoint as it was saved, for a run that resumes from it after others have gone on saving.

Later saves may replace the checkpoint, rotation may delete it, and links and small files beside it
(``latest``, ``last_checkpoint``) may come to name another one.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from ckpt_doctor import units
from ckpt_doctor.errors import MachineError

MAX_POINTER_BYTES = 256
"""Files beside the checkpoint that are no larger may say which one is the newest."""

MOST_UNASKED_BYTES = 1 << 30
"""A checkpoint that is larger is copied only for what was asked for."""
ROOM_RATIO = 4
"""Nor is one, unless the disk has so many times its size free."""


class Kept:
    """A checkpoint, and what points to it, as they were at one moment."""

    def __init__(self, checkpoint: Path, folder: Path) -> None:
        """Copy them.

        Args:
            checkpoint: A file or folder, or a link to one.
            folder: A new folder for the copies.

        Raises:
            MachineError: There is no room for them.
        """
        self._folder = folder
        self._copies: dict[Path, Path] = {}
        self._links = {path: os.readlink(path) for path in checkpoint.parent.iterdir() if path.is_symlink()}
        real = checkpoint.resolve()
        try:
            folder.mkdir(parents=True)
            for number, path in enumerate((real, *_pointers(real, checkpoint.parent))):
                self._copies[path] = folder / f"{number}-{path.name}"
                _copy(path, self._copies[path])
        except OSError as error:
            self.discard()
            raise MachineError(
                f"the checkpoint ({units.size(_size_bytes(real))}) could not be copied to {folder}: "
                f"{error.strerror}",
                hint="give the recordings a folder with more room",
            ) from error

    def put_back(self) -> None:
        """Make them what they were; what nobody has touched is left alone."""
        for path, copied in self._copies.items():
            _copy(copied, path)
        for path, target in self._links.items():
            # Where something else stands now, there is nothing to point with.
            with suppress(OSError):
                if not path.is_symlink() or os.readlink(path) != target:
                    _link(path, target)

    def discard(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self._folder, ignore_errors=True)


def has_room(checkpoint: Path, folder: Path) -> bool:
    """Whether a copy costs next to nothing, so that it can be made before anybody needs it."""
    try:
        size_bytes = _size_bytes(checkpoint.resolve())
        free_bytes = shutil.disk_usage(folder).free
    except OSError:
        return False
    return size_bytes <= MOST_UNASKED_BYTES and ROOM_RATIO * size_bytes <= free_bytes


def _pointers(checkpoint: Path, folder: Path) -> list[Path]:
    return [
        path
        for path in folder.iterdir()
        if path.is_file() and not path.is_symlink() and path != checkpoint
        if path.stat().st_size <= MAX_POINTER_BYTES
    ]


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, copy_function=_copy_file)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(str(source), str(target))


def _copy_file(source: str, target: str) -> str:
    """Copy with its time of change, by which a file is known that needs no copy."""
    if _stamp(source) != _stamp(target):
        shutil.copy2(source, target)
    return target


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _link(path: Path, target: str) -> None:
    part = path.with_name(f".{path.name}.part")
    os.symlink(target, part)
    os.replace(part, path)


def _size_bytes(path: Path) -> int:
    files = (entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)
