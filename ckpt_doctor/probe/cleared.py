"""Makes the folder of the checkpoints what the first fresh run found, for another run that starts afresh.

Where earlier runs have saved, a fresh one may find their checkpoints and resume from them, or refuse to
start. So what the runs of the probe have put into the folder gets a name of its own (``.NAME.earlier``)
until the further ones have ended. Then what those have made there goes, and the names are given back.
What has not changed since the probe began is not moved.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ckpt_doctor.probe.outputs import aside, entry_of, names_in

EARLIER = "earlier"


class Cleared:
    """The folder without what earlier runs have saved into it."""

    def __init__(self, folder: Path, written: Iterable[str], since_unix_s: float) -> None:
        """Hide it.

        Args:
            folder: The folder of the checkpoints.
            written: Paths that earlier runs have written, moved or saved to.
            since_unix_s: When the probe began.
        """
        self._folder = folder
        self._hidden: list[str] = []
        own = _entries(folder, written)
        for name in names_in(folder):
            path = folder / name
            if (name in own or path.is_symlink()) and _made_since(path, since_unix_s):
                with suppress(OSError):
                    os.rename(path, folder / aside(name, EARLIER))
                    self._hidden.append(name)
        self._there = set(names_in(folder))

    def put_back(self, written: Iterable[str]) -> None:
        """Remove what was made there since then, and give back what was hidden.

        Args:
            written: Paths that runs have written, moved or saved to since then; what others made stays.
        """
        made = set(names_in(self._folder)) - self._there
        for name in made & (_entries(self._folder, written) | set(self._hidden)):
            _remove(self._folder / name)
        for name in self._hidden:
            with suppress(OSError):
                os.rename(self._folder / aside(name, EARLIER), self._folder / name)
        self._hidden.clear()


def _entries(folder: Path, paths: Iterable[str]) -> set[str]:
    return {name for path in paths if (name := entry_of(folder, path)) is not None}


def _made_since(path: Path, unix_s: float) -> bool:
    """Whether a file, a link, or each file within a folder came to be, or was changed, since then."""
    whole = path.rglob("*") if _is_folder(path) else (path,)
    try:
        return all(each.lstat().st_ctime >= unix_s for each in whole if not _is_folder(each))
    except OSError:
        return False


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
