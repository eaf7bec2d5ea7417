"""Where a repaired copy is written: beside its place first, then moved there in one step.

Until then the place holds what it held; if anything fails, nothing of the attempt is left.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ckpt_doctor.errors import MachineError, UsageError

_ALLOW = "--allow-overwrite replaces it."


def check_output(source: Path, output: Path, *, allow_overwrite: bool) -> None:
    """Refuse a place that would cost something.

    Raises:
        UsageError: The checkpoint itself would be replaced, something stands there, or its folder is missing.
    """
    if _is_same(source, output) or _holds(source, output) or _holds(output, source):
        raise UsageError(
            f"{output}: is the checkpoint itself, lies in it or holds it; a copy needs a place of its own"
        )
    if not output.parent.is_dir():
        raise UsageError(f"{output}: the folder {output.parent} does not exist")
    if not os.path.lexists(output):
        return
    if output.is_dir() != source.is_dir():
        raise UsageError(f"{output}: is a {_kind(output)}, and the checkpoint is a {_kind(source)}")
    if not allow_overwrite:
        raise UsageError(f"{output}: is there already", hint=_ALLOW)


@contextmanager
def written_beside(output: Path, *, allow_overwrite: bool) -> Iterator[Path]:
    """A path of the output's own name in a new folder beside it; what is written there becomes the output.

    Raises:
        UsageError: Something has come to stand in the output's place meanwhile.
        MachineError: It cannot be written.
    """
    try:
        folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name[:64]}."))
    except OSError as error:
        raise MachineError(f"{output}: cannot be written: {error.strerror}") from error
    try:
        temporary = folder / output.name
        yield temporary
        _reach_the_disk(temporary)
        _move(temporary, output, folder / "replaced", allow_overwrite)
    except OSError as error:
        raise MachineError(f"{output}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files_in(folder: Path) -> list[str]:
    """Every regular file below a folder, by its name relative to it; links to files are followed."""
    paths = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return sorted(path.relative_to(folder).as_posix() for path in paths if path.is_file())


def _move(temporary: Path, output: Path, replaced: Path, allow_overwrite: bool) -> None:
    if os.path.lexists(output):
        if not allow_overwrite:
            raise UsageError(f"{output}: has come to be there meanwhile", hint=_ALLOW)
        if output.is_dir():  # only an empty folder can be replaced in one step
            os.rename(output, replaced)
    try:
        os.replace(temporary, output)
    except OSError:
        with suppress(OSError):
            os.rename(replaced, output)
        raise
    _sync(output.parent)


def _reach_the_disk(path: Path) -> None:
    """Wait until a file, or everything in a folder, is on the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            _sync(Path(folder, name))
        _sync(Path(folder))
    if path.is_file():
        _sync(path)


def _sync(path: Path) -> None:
    on_windows = os.name == "nt"
    if path.is_dir() and on_windows:
        return  # it opens no folders
    descriptor = os.open(path, os.O_RDWR if on_windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _kind(path: Path) -> str:
    return "folder" if path.is_dir() else "file"


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)
    return False


def _holds(folder: Path, path: Path) -> bool:
    """Whether a path lies in a folder, links followed."""
    return folder.is_dir() and folder.resolve() in path.resolve().parents
