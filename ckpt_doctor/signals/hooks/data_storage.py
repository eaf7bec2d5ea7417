"""Which kind of file system the data lie on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (Signal("data_storage", "event", "host", "file systems of the files that the data come from"),)
NEEDS = ("torch.utils.data.dataloader",)

SYSTEM = ("/proc/", "/sys/", "/dev/", "/usr/", "/lib", "/etc/", "/run/", "/memfd:", "/SYSV", "/anon_hugepage")
LIBRARIES = (".so", ".py", ".pyc", ".mo")
MOUNTS = Path("/proc/self/mountinfo")


def install(recorder: Recorder, module: ModuleType) -> None:
    """Look at the data sets of loaders, at memory maps and at open files for every fingerprint (Linux)."""
    loaders: WeakSet[Any] = WeakSet()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def begin(iterator: Any, loader: Any) -> None:
            loaders.add(loader)
            original(iterator, loader)

        return begin

    def describe() -> dict[str, object]:
        paths = {path for loader in list(loaders) for path in _named_paths(loader.dataset)}
        paths.update(path for path in (*_mapped(), *_open_for_reading()) if _is_data(path))
        kinds = {kind for path in paths if (kind := filesystem(path, MOUNTS)) is not None}
        return {"data.filesystem": ",".join(sorted(kinds))} if kinds else {}

    recorder.wrap(module._BaseDataLoaderIter, "__init__", make)
    recorder.describe_with(describe)


def filesystem(path: str, mounts: Path) -> str | None:
    """Type of the file system that holds a path; None where that is not known.

    Args:
        path: Absolute path.
        mounts: A mountinfo file, see proc(5).
    """
    try:
        rows = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return None
    real = os.path.realpath(path)
    holding = [row for row in rows if len(row) > 6 and _holds(row[4].replace(r"\040", " "), real)]
    if not holding:
        return None
    # Of mounts at one place the last one is seen.
    row = max(enumerate(holding), key=lambda item: (len(item[1][4]), item[0]))[1]
    return row[row.index("-") + 1]


def _holds(mount: str, path: str) -> bool:
    return mount == "/" or path == mount or path.startswith(f"{mount}/")


def _named_paths(dataset: Any) -> Iterator[str]:
    """Existing files and folders that a data set's attributes name, as ``root`` or ``paths`` do."""
    for value in list(getattr(dataset, "__dict__", {}).values()):
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        first = first[0] if isinstance(first, (list, tuple)) and first else first
        is_path = isinstance(first, os.PathLike) or (isinstance(first, str) and os.sep in first)
        if is_path and os.path.exists(first):
            yield os.path.abspath(first)


def _mapped() -> Iterator[str]:
    """Files that are mapped into memory (sixth field of /proc/PID/maps)."""
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(None, 5)
            if len(fields) == 6:
                yield fields[5].rstrip("\n")


def _open_for_reading() -> Iterator[str]:
    """Files that are open and cannot be written to."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError, ValueError):
                flags = Path(f"/proc/self/fdinfo/{name}").read_text("ascii").split("flags:")[1].split()[0]
                if int(flags, 8) & os.O_ACCMODE == os.O_RDONLY:
                    yield os.readlink(f"/proc/self/fd/{name}")


def _is_data(path: str) -> bool:
    if not path.startswith("/") or path.startswith((*SYSTEM, sys.prefix, sys.base_prefix)):
        return False
    return not (path.endswith((*LIBRARIES, " (deleted)")) or ".so." in path)
