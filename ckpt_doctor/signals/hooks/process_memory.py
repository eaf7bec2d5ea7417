"""Memory of the training process and of its children, and how much it may have."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("rss_bytes", "bytes", "compute", "resident memory of the training process"),
    Signal("heap_bytes", "bytes", "compute", "what is allocated in it and not freed, as malloc counts it"),
    Signal("children_rss_bytes", "bytes", "data", "resident memory of its children: loader workers"),
    Signal("memory_limit_hits", "count", "compute", "how often its control group ran into its memory limit"),
)
NEEDS = ("torch",)

UNLIMITED = 2**60
"""Version 1 of control groups writes a limit that no machine has where there is none."""
_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


class _Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33 and later (mallinfo(3))."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _FIELDS)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Read /proc, the control group and malloc's own count for every fingerprint (Linux)."""
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    allocated = _malloc_counter()

    def describe() -> dict[str, object]:
        children = _children()
        limit_bytes, hits = _limit(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
        return {
            "memory.rss_bytes": _rss_bytes("self", page_bytes),
            "memory.heap_bytes": allocated(),
            "memory.children": None if children is None else len(children),
            "memory.children_rss_bytes": _total_bytes(children, page_bytes),
            "memory.limit_hits": hits,
            "machine.memory_limit_bytes": limit_bytes,
        }

    recorder.describe_with(describe)


def _malloc_counter() -> Callable[[], int | None]:
    """Gives the bytes that malloc has handed out; None where glibc's malloc is not the one in use."""
    library = ctypes.CDLL(None)
    if "malloc" in os.environ.get("LD_PRELOAD", "") or not hasattr(library, "mallinfo2"):
        return lambda: None
    library.mallinfo2.restype = _Mallinfo2

    def allocated() -> int:
        info = library.mallinfo2()
        return int(info.uordblks + info.hblkhd)

    return allocated


def _rss_bytes(pid: str, page_bytes: int) -> int | None:
    """Second field of /proc/PID/statm (proc(5)); None for a process that has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * page_bytes
    except (OSError, IndexError, ValueError):
        return None


def _total_bytes(pids: list[str] | None, page_bytes: int) -> int | None:
    return None if pids is None else sum(_rss_bytes(pid, page_bytes) or 0 for pid in pids)


def _children() -> list[str] | None:
    """Process ids of the children, whichever thread started them (/proc/PID/task/TID/children)."""
    try:
        paths = Path("/proc/self/task").glob("*/children")
        return [pid for path in paths for pid in path.read_text("ascii").split()]
    except OSError:
        return None


def _limit(membership: Path, top: Path) -> tuple[int | None, int | None]:
    """The smallest memory limit of the process's control groups in bytes, and how often it was hit.

    A group's limit holds for all groups below it, so those above count too. Where the groups are
    mounted elsewhere, or there is no limit, both are None.

    Args:
        membership: /proc/PID/cgroup, see cgroups(7).
        top: Where the groups are mounted.
    """
    try:
        lines = membership.read_text("utf-8").splitlines()
    except OSError:
        return None, None
    found: list[tuple[int, int | None]] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        group = path.strip("/")
        if "memory" in controllers.split(","):
            found += _limits(top / "memory", group, "memory.limit_in_bytes", _failures)
        elif not controllers:
            found += _limits(top, group, "memory.max", _events)
            found += _limits(top, group, "memory.high", _events)
    return min(found, key=lambda pair: pair[0], default=(None, None))


def _limits(
    top: Path, group: str, name: str, hits: Callable[[Path], int | None]
) -> Iterator[tuple[int, int | None]]:
    folder = top / group
    while True:
        with contextlib.suppress(OSError, ValueError):
            limit_bytes = int((folder / name).read_text("ascii"))
            if limit_bytes < UNLIMITED:
                yield limit_bytes, hits(folder)
        if folder == top:
            return
        folder = folder.parent


def _failures(folder: Path) -> int | None:
    """Version 1: ``memory.failcnt``."""
    try:
        return int((folder / "memory.failcnt").read_text("ascii"))
    except (OSError, ValueError):
        return None


def _events(folder: Path) -> int | None:
    """Version 2: ``high`` and ``max`` of ``memory.events``."""
    try:
        rows = (line.split() for line in (folder / "memory.events").read_text("ascii").splitlines())
        return sum(int(count) for name, count in rows if name in ("high", "max"))
    except (OSError, ValueError):
        return None
