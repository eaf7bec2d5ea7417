"""Keeps what one run saves out of the other's sight, where both save into the same folder.

A resumed run alone would find no checkpoint of a later step than its own; beside the control it might,
and fail to save its own there, or rotate the wrong ones away. So what a run has put into the folder
of the checkpoints in its turn gets a name of its own (``.NAME.ARM``) while the other has its turn.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FIRST = ("before", "after")
"""Arms whose outputs win over those of others."""


class Outputs:
    """The folder that checkpoints are saved to, as each run may see it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shared = set(names_in(folder))
        self._hidden: dict[str, list[str]] = {}

    def hide(self, arm: str, written: Iterable[str]) -> None:
        """Hide what is new in the folder and was written by an arm.

        Args:
            arm: Name of the arm whose turn has ended.
            written: Paths that it has written, moved or saved to.
        """
        own = {name for path in written if (name := entry_of(self._folder, path)) is not None}
        for name in own & (set(names_in(self._folder)) - self._shared):
            with suppress(OSError):
                os.rename(self._folder / name, self._folder / aside(name, arm))
                self._hidden.setdefault(arm, []).append(name)

    def show(self, arm: str) -> None:
        """Give back what was hidden, as the turn of an arm begins."""
        for name in self._hidden.pop(arm, []):
            with suppress(OSError):
                os.rename(self._folder / aside(name, arm), self._folder / name)

    def settle(self) -> None:
        """Give everything back; where several runs made the same name, the uninterrupted one's stays."""
        for arm, names in sorted(self._hidden.items(), key=lambda item: _place(item[0])):
            for name in names:
                hidden = self._folder / aside(name, arm)
                if not (self._folder / name).exists():
                    with suppress(OSError):
                        os.rename(hidden, self._folder / name)
                elif hidden.is_dir():
                    shutil.rmtree(hidden, ignore_errors=True)
                else:
                    hidden.unlink(missing_ok=True)
        self._hidden.clear()


def _place(arm: str) -> int:
    """The control comes first, then the run that was compared with it."""
    return FIRST.index(arm) if arm in FIRST else len(FIRST)


def names_in(folder: Path) -> list[str]:
    """The names in a folder; none where there is no such folder."""
    with suppress(OSError):
        return os.listdir(folder)
    return []


def entry_of(folder: Path, path: str) -> str | None:
    """The entry of the folder that a path is, or lies in; None where it lies elsewhere."""
    with suppress(ValueError, IndexError):
        return Path(path).relative_to(folder).parts[0]
    return None


def aside(name: str, arm: str) -> str:
    """The name under which an entry is out of sight."""
    return f".{name}.{arm}"
