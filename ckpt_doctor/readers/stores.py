"""Where checkpoints lie: the disk of this machine, or whatever fsspec can address.

A store lists folders and opens files as sources; the readers know no more of it than that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Protocol

from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.sources import LocalFile, Meter, Source, list_folder, open_file

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
_MAX_POINTER_BYTES = 1024


class Store(Protocol):
    """What the readers need of the place where a checkpoint lies."""

    def is_folder(self, path: str) -> bool:
        """Whether the path is a folder."""

    def join(self, path: str, name: str) -> str:
        """The path of an entry of a folder."""

    def listing(self, path: str) -> tuple[list[str], list[str]]:
        """Names of the folders and of the files directly in a folder.

        Raises:
            Malformed: The folder cannot be listed.
        """

    def files(self, path: str) -> dict[str, int]:
        """Size of each file below a folder, by its name relative to it.

        Raises:
            Malformed: The folder cannot be listed.
        """

    def open(self, path: str, name: str, meter: Meter) -> Source:
        """A file as a source; ``name`` is what it is called within its checkpoint.

        Raises:
            Malformed: It is not there, or no regular file.
        """

    def expect(self, path: str, names: Iterable[str], meter: Meter) -> None:
        """Say which files of a folder will be read, so that they can be fetched together."""


class LocalStore:
    """The disk of this machine."""

    def is_folder(self, path: str) -> bool:
        """See ``Store``."""
        return os.path.isdir(path)

    def join(self, path: str, name: str) -> str:
        """See ``Store``."""
        return os.path.join(path, name)

    def listing(self, path: str) -> tuple[list[str], list[str]]:
        """See ``Store``."""
        folders, files = [], []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.name)
                    elif entry.is_file():
                        files.append(entry.name)
        except OSError as error:
            raise Malformed(f"it cannot be read: {error.strerror}") from error
        return sorted(folders), sorted(files)

    def files(self, path: str) -> dict[str, int]:
        """See ``Store``."""
        return list_folder(path)

    def open(self, path: str, name: str, meter: Meter) -> LocalFile:
        """See ``Store``."""
        return open_file(path, name, meter)

    def expect(self, path: str, names: Iterable[str], meter: Meter) -> None:
        """Nothing is gained by fetching local files ahead."""


def is_address(path: str) -> bool:
    """Whether a path is an address for fsspec rather than a path of this machine."""
    return _ADDRESS.match(path) is not None


def store_of(path: str) -> Store:
    """The store that a path or address belongs to.

    Raises:
        Malformed: The address needs a package that is not installed.
    """
    if is_address(path):
        from ckpt_doctor.readers.remote import RemoteStore

        return RemoteStore(path)
    return LocalStore()


def pointer_text(store: Store, path: str) -> str:
    """The text of a small file that names another; empty where it cannot be read."""
    try:
        source = store.open(path, "", Meter())
        raw = source.read(0, _MAX_POINTER_BYTES)
        source.close()
    except Malformed:
        return ""
    return raw.decode("utf-8", "replace").strip()
