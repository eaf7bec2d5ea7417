"""A folder of checkpoints: their names, what makes one whole, which to load, and which to delete.

::

    checkpoints/
        step-00000200/
            state.pt            or the files of torch.distributed.checkpoint
            manifest.json       written last: a number that counts saves, sizes and checksums of all files
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.resume.atomic import REPLACED, UNFINISHED, checksum, publish, take_away
from ckpt_doctor.resume.ranks import gather, on_first, own_rank, world_size

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1

_NAME = re.compile(rf"step-\d+({re.escape(REPLACED)})?")


class Store:
    """The checkpoints of one run. Every method has to be called by all ranks.

    Args:
        folder: Made when it is first needed; nothing else should be in it.
        keep: How many checkpoints are kept, the newest ones; None keeps all.
    """

    def __init__(self, folder: Path, keep: int | None) -> None:
        self.folder = folder
        self._keep = keep

    def save(self, step: int, write: Callable[[Path], None]) -> Path:
        """Add a checkpoint, and delete those that are too many.

        Args:
            step: Steps done.
            write: Writes the files into a folder; called on every rank.

        Returns:
            The checkpoint's folder.

        Raises:
            OSError: The disk is full, or refuses.
        """
        unfinished = on_first(lambda: self._begin(step))
        write(unfinished)
        sums = _checksums(unfinished)
        return on_first(lambda: self._finish(unfinished, sums))

    def newest_whole(self) -> tuple[Path | None, list[tuple[str, str]]]:
        """The newest checkpoint that is whole; and of newer ones, what is wrong with each."""
        passed_over: list[tuple[str, str]] = []
        for path in on_first(self._newest_first):
            why = damage(path)
            if why is None:
                return path, passed_over
            passed_over.append((path.name, why))
        return None, passed_over

    def _begin(self, step: int) -> Path:
        """An empty folder to fill; what saves that were cut off have left is cleared away."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.glob(f"step-*{UNFINISHED}"):
            take_away(path)
        unfinished = self.folder / f"step-{step:08d}{UNFINISHED}"
        unfinished.mkdir()
        return unfinished

    def _finish(self, unfinished: Path, sums: dict[str, dict[str, Any]]) -> Path:
        numbers = [number for path in self._checkpoints() if (number := _number(path)) is not None]
        manifest = {"manifest": MANIFEST_VERSION, "save": max(numbers, default=0) + 1, "files": sums}
        path = unfinished / MANIFEST
        path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        target = unfinished.with_suffix("")
        publish(unfinished, target)
        if self._keep is not None:
            whole = [path for path in self._newest_first() if _number(path) is not None]
            for old in whole[self._keep :]:
                take_away(old)
        return target

    def _newest_first(self) -> list[Path]:
        """By the count of saves, not by step: a run that went back to an older step goes on from there.

        Those whose manifest cannot be read come first: they are told of, and passed over.
        """
        return sorted(
            self._checkpoints(),
            key=lambda path: ((number := _number(path)) is None, number or 0, path.name),
            reverse=True,
        )

    def _checkpoints(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()]


def damage(folder: Path) -> str | None:
    """What is wrong with a checkpoint, in a few words; None where it is whole. All ranks have to call it.

    Sizes tell most damage at once; checksums are worked out by all ranks together.
    """
    why = on_first(lambda: _missing(folder))
    if why is None:
        files = sorted(_manifest(folder)["files"].items())
        mine = files[own_rank() :: world_size()]
        found = next((name for name, file in mine if checksum(folder / name) != file["sha256"]), None)
        damaged = next(filter(None, gather(found)), None)
        why = f"{damaged} is damaged: its checksum is another one" if damaged else None
    return why


def check_whole(folder: Path) -> None:
    """Refuse a checkpoint that is not whole.

    Raises:
        CheckpointError: It is damaged, or was never finished.
    """
    why = damage(folder)
    if why is not None:
        raise CheckpointError(f"{folder} is not whole: {why}", hint="load another checkpoint")


def _missing(folder: Path) -> str | None:
    manifest = _manifest(folder)
    if not manifest:
        return f"it has no readable {MANIFEST}, which a save writes last"
    for name, file in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != file["bytes"]:
            return f"{name} has {path.stat().st_size:,} bytes of {file['bytes']:,}"
    return None


def _manifest(folder: Path) -> dict[str, Any]:
    """Empty where it is missing or is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    well_formed = isinstance(manifest, dict) and manifest.get("manifest") == MANIFEST_VERSION
    return manifest if well_formed else {}


def _number(folder: Path) -> int | None:
    return _manifest(folder).get("save")


def _checksums(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and checksum of every file by name, worked out by all ranks together."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    mine = names[own_rank() :: world_size()]
    sums = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": checksum(folder / name)} for name in mine
    }
    return {name: file for part in gather(sums) for name, file in part.items()}
