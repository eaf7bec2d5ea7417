"""Stops, continues and counts the processes of a run, whatever process groups they sit in."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterable

import psutil


def stop(root: int, known: Iterable[psutil.Process] = ()) -> None:
    """Stop every process below ``root`` (SIGSTOP), also those that appear meanwhile.

    Args:
        root: A process id.
        known: Some of them, which are stopped first: to look for all takes milliseconds, in which a loader's
            workers would prepare batches for the next turn.
    """
    _signal(known, signal.SIGSTOP)
    stopped: set[int] = set()
    while True:
        fresh = [process for process in _below(root) if process.pid not in stopped]
        if not fresh:
            return
        _signal(fresh, signal.SIGSTOP)
        stopped.update(process.pid for process in fresh)


def proceed(root: int) -> list[psutil.Process]:
    """Let every process below ``root`` go on (SIGCONT), and tell which these are."""
    processes = _below(root)
    _signal(processes, signal.SIGCONT)
    return processes


def _below(root: int) -> list[psutil.Process]:
    try:
        return psutil.Process(root).children(recursive=True)
    except psutil.Error:
        return []


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
