"""Writes that are there as a whole or not at all, also after a kill or a loss of power.

A folder is filled under another name, everything in it is written through to the disk, and then it
gets its name in one rename.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

UNFINISHED = ".tmp"
"""Ending of a folder that is being filled or taken away: nobody reads it."""
REPLACED = ".replaced"
"""Ending of a folder that is about to make room for another of its name: whole, and still good."""

_BLOCK_BYTES = 1 << 20


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def sync(path: Path) -> None:
    """Write a file's bytes, or the names in a folder, through to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows has no such call for folders.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(unfinished: Path, target: Path) -> None:
    """Give a filled folder its name. A folder that has it already is kept until the new one is there."""
    for path in (*unfinished.rglob("*"), unfinished):
        sync(path)
    replaced = target.with_name(target.name + REPLACED)
    if target.exists():
        take_away(replaced)
        target.rename(replaced)
    unfinished.rename(target)
    sync(target.parent)
    take_away(replaced)


def take_away(folder: Path) -> None:
    """Delete a folder, if it is there. Cut off half-way, what is left of it is known to be unfinished."""
    if not folder.exists():
        return
    doomed = folder
    if folder.suffix != UNFINISHED:
        doomed = folder.with_name(folder.name + UNFINISHED)
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
    shutil.rmtree(doomed)
