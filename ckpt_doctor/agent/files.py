"""Notes which files a run reads and writes, and keeps it from destroying the user's.

An audit hook (PEP 578) sees Python's own file operations; libraries that open files in native
code are announced by their hooks (``about_to_write``). Not seen: programs that the script starts, and
what is written into a file that was opened without cutting it short (``r+``, ``a``).

Each line of ``files.log`` is a letter and paths, separated by tabs: ``r`` read, ``w`` opened for
writing, ``m`` moved (old, new), ``v`` a violation (what was about to happen, path).
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.facts.recording import FILES

MAX_READ_PATHS = 200_000

_WRITES = os.O_WRONLY | os.O_RDWR
_UNINTERESTING = (".py", ".pyc", ".so", ".pth", ".json.lock")
_SYSTEM = ("/proc", "/sys", "/dev", "/usr", "/etc", "/lib", "/lib32", "/lib64", "/run")
_CACHE_NAMES = ("__pycache__", ".cache", ".triton", "torchinductor_")
_CACHE_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "HF_HOME", "XDG_CACHE_HOME")

_guard: _Guard | None = None


def watch(options: AgentOptions) -> None:
    """Install the audit hook; it stays for the life of the process."""
    global _guard
    log = _Log(os.path.join(options.recording, FILES))
    _guard = _Guard(log, options.protect_since) if options.protect_since is not None else None
    ignored = tuple(_below(path) for path in (options.recording, sys.prefix, sys.base_prefix, *_SYSTEM))

    def opened(path: Any, mode: Any, flags: Any) -> None:
        name = _name(path)
        if name is None or not isinstance(flags, int) or name.startswith(ignored):
            return
        if flags & _WRITES:
            if _guard is not None and flags & os.O_TRUNC:
                _guard.check("overwrite", os.path.realpath(name))
            elif _guard is not None:
                _guard.remember(os.path.realpath(name))
            log.add("w", name)
        elif not name.endswith(_UNINTERESTING):
            log.add_once("r", name)

    def removed(path: Any, folder: Any = -1) -> None:
        name = _name(path, folder)
        if name is not None and _guard is not None:
            _guard.check("delete", name)

    def renamed(source: Any, target: Any, source_folder: Any = -1, target_folder: Any = -1) -> None:
        old, new = _name(source, source_folder), _name(target, target_folder)
        if old is None or new is None:
            return
        if _guard is not None:
            _guard.check("overwrite", new)
            _guard.check("move", old)
        log.add("m", old, new)

    def truncated(path: Any, length: Any) -> None:
        name = _opened_as(path) if isinstance(path, int) else _name(path)
        if name is not None and _guard is not None:
            _guard.check("overwrite", os.path.realpath(name))

    handlers: dict[str, Callable[..., None]] = {
        "open": opened,
        "os.remove": removed,
        "shutil.rmtree": removed,
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
        _guard.check("overwrite", os.path.realpath(path))


def _name(path: Any, folder: Any = -1) -> str | None:
    """The absolute path of a name, which may stand in a folder that is open as a descriptor."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return None
    name = os.fsdecode(path)
    if not isinstance(folder, int) or folder < 0 or os.path.isabs(name):
        return os.path.abspath(name)
    above = _opened_as(folder)
    return None if above is None else os.path.normpath(os.path.join(above, name))


def _opened_as(descriptor: int) -> str | None:
    """The path that a descriptor was opened by (Linux, proc(5)); None where that cannot be told."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None


def _below(folder: str) -> str:
    return os.path.join(os.path.abspath(folder), "")


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
        self._caches = tuple(_below(path) for path in caches if path)
        self._appended: set[str] = set()

    def check(self, action: str, path: str) -> None:
        """End the process if that would destroy a file, or one of those in a folder."""
        for name in [path] if action == "overwrite" else self._files(path):
            if name in self._appended or self._was_there(name):
                self._log.add("v", action, name)
                # As a crash would: no handler of the script's may run, and none of its files is touched.
                os.kill(os.getpid(), signal.SIGKILL)

    def remember(self, path: str) -> None:
        """Note a file that is going to be appended to: its times will not tell how old it is."""
        if self._was_there(path):
            self._appended.add(path)

    def _files(self, path: str) -> Iterator[str]:
        if os.path.islink(path) or not os.path.isdir(path):
            yield path
            return
        for folder, _, names in os.walk(path):
            for name in names:
                yield os.path.join(folder, name)

    def _was_there(self, path: str) -> bool:
        try:
            status = os.lstat(path)
        except OSError:
            return False
        kept = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
        return kept and status.st_ctime < self._since and not self._is_cache(path)

    def _is_cache(self, path: str) -> bool:
        return (
            path.endswith(".lock")
            or path.startswith(self._caches)
            or any(part.startswith(_CACHE_NAMES) for part in path.split(os.sep))
        )
