"""Busy neighbours: processes that use all of the CPU, or of the disk, that they get."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CPU = """
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {int(sys.argv[1])})
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
"""
"""Ends with its parent, however that ends; so does the other one."""
DISK = """
import os, sys
parent, block = os.getppid(), os.urandom(1 << 22)
while os.getppid() == parent:
    descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for _ in range(16):
        os.write(descriptor, block)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.lseek(descriptor, 0, os.SEEK_SET)
    while os.read(descriptor, len(block)):
        pass
    os.close(descriptor)
"""
"""Writes 64 MiB through to the disk and reads them back from there, again and again."""


@contextmanager
def hogs(cpu: bool, disk: Path | None = None) -> Iterator[None]:
    """Keep the machine busy meanwhile.

    Args:
        cpu: One process a core computes, and is kept to it: where one of the others is kept to a core, they
            would all go to the rest.
        disk: One process writes this file and reads it, if it is given.
    """
    commands = [[sys.executable, "-c", CPU, str(core)] for core in _cores()] if cpu else []
    if disk is not None:
        commands.append([sys.executable, "-c", DISK, str(disk)])
    processes = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _cores() -> list[int]:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
