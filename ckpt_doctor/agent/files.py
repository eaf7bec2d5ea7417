"""Notes which files a run reads and writes, and keeps it from destroying the user's.

An audit hook (PEP 578) sees Python's own file operations; libraries that open files in native
code are announced by their hooks (``about_to_write``). Programs that the script starts are not seen.

Each line of ``files.log`` is a letter and paths, separated by tabs: ``r`` read, ``w`` opened for
writing, ``m`` moved (old, new), ``v`` a violation (what was about to happen, path).
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import Any

from ckpt_doctor.agent.options import AgentOptions

LOG = "files.log"
MAX_READ_PATHS = 200_000

_WRITES = os.O_WRONLY | os.O_RDWR
_UNINTERESTING = (".py", ".pyc", ".so", ".pth", ".json.lock")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/usr/", "/etc/", "/lib", "/run/")
_CACHE_NAMES = ("__pycache__", ".cache", ".triton", "torchinductor_")
_CACHE_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "HF_HOME", "XDG_CACHE_HOME")

_guard: Callable[[str, str], None] | None = None


def watch(options: AgentOptions) -> None:
    """Install the audit hook; it stays for the life of the process."""
    global _guard
    log = _Log(os.path.join(options.recording, LOG))
    _guard = _Guard(log, options.protect_since).check if options.protect_since is not None else None
    ignored = (options.recording, sys.prefix, sys.base_prefix, *_SYSTEM)

    def opened(path: Any, mode: Any, flags: Any) -> None:
        name = _name(path)
        if name is None or not isinstance(flags, int) or name.startswith(ignored):
            return
        if flags & _WRITES:
            if flags & os.O_TRUNC and _guard is not None:
                _guard("overwrite", name)
            log.add("w", name)
        elif not name.endswith(_UNINTERESTING):
            log.add_once("r", name)

    def removed(path: Any, dir_fd: Any = -1) -> None:
        name = _name(path)
        if name is not None and dir_fd == -1 and _guard is not None:
            _guard("delete", name)

    def renamed(source: Any, target: Any, source_fd: Any = -1, target_fd: Any = -1) -> None:
        old, new = _name(source), _name(target)
        if old is None or new is None or (source_fd, target_fd) != (-1, -1):
            return
        if _guard is not None:
            _guard("overwrite", new)
            _guard("move", old)
        log.add("m", old, new)

    def truncated(path: Any, length: Any) -> None:
        name = _name(path)
        if name is not None and _guard is not None:
            _guard("overwrite", name)

    handlers: dict[str, Callable[..., None]] = {
        "open": opened,
        "os.remove": removed,
        "os.rename": renamed,
        "os.truncate": truncated,
    }

    def hook(event: str, args: tuple[Any, ...]) -> None:
        handler = handlers.get(event)
        if handler is not None:
            handler(*args)

    sys.addaudithook(hook)


def about_to_write(path: str) -> None:
    """Announce a file that native code is going to overwrite."""
    if _guard is not None:
        _guard("overwrite", os.path.abspath(path))


def _name(path: Any) -> str | None:
    if isinstance(path, (str, bytes, os.PathLike)):
        return os.path.abspath(os.fsdecode(path))
    return None


class _Log:
    """Appends lines that all processes of the run share; each line is one write, so none is torn."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._seen: set[str] = set()

    def add(self, letter: str, *paths: str) -> None:
        clean = (path.replace("\t", " ").replace("\n", " ") for path in paths)
        os.write(self._descriptor, ("\t".join((letter, *clean)) + "\n").encode("utf-8", "surrogateescape"))

    def add_once(self, letter: str, path: str) -> None:
        if path not in self._seen and len(self._seen) < MAX_READ_PATHS:
            self._seen.add(path)
            self.add(letter, path)


class _Guard:
    """Ends the process before it destroys a file that was there before the probe began."""

    def __init__(self, log: _Log, since: float) -> None:
        self._log = log
        self._since = since
        caches = (os.environ.get(name) for name in _CACHE_VARIABLES)
        self._caches = tuple(os.path.abspath(path) for path in caches if path)

    def check(self, action: str, path: str) -> None:
        try:
            status = os.lstat(path)
        except OSError:
            return
        if not stat.S_ISREG(status.st_mode) or status.st_ctime >= self._since or self._is_cache(path):
            return
        self._log.add("v", action, path)
        # As a crash would: no handler of the script's may run, and none of its files is touched.
        os.kill(os.getpid(), signal.SIGKILL)

    def _is_cache(self, path: str) -> bool:
        return (
            path.endswith(".lock")
            or path.startswith(self._caches)
            or any(part.startswith(_CACHE_NAMES) for part in path.split(os.sep))
        )
