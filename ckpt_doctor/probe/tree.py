"""Stops, continues and counts the processes of a run, whatever process groups they sit in."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterable

import psutil


def stop(root: int) -> None:
    """Stop every process below ``root`` (SIGSTOP), also those that appear meanwhile."""
    stopped: set[int] = set()
    while True:
        fresh = [process for process in _below(root) if process.pid not in stopped]
        if not fresh:
            return
        _signal(fresh, signal.SIGSTOP)
        stopped.update(process.pid for process in fresh)


def proceed(root: int) -> None:
    """Let every process below ``root`` go on (SIGCONT)."""
    _signal(_below(root), signal.SIGCONT)


def _below(root: int) -> list[psutil.Process]:
    try:
        return psutil.Process(root).children(recursive=True)
    except psutil.Error:
        return []


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
