"""Progress on standard error while something takes long; silent where that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ckpt_doctor.report.terminal.harmless import harmless

_PATIENCE_S = 1.0
"""So long nobody minds waiting without a word."""

Progress = Callable[[str, float | None], None]
"""Takes what is being done, and which part of it is done (0 to 1; None where nobody knows)."""


@contextmanager
def shown() -> Iterator[Progress]:
    """A progress line that lives as long as the block."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
    )
    with Display(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("starting", total=None)

        def show(message: str, done_ratio: float | None) -> None:
            total = None if done_ratio is None else 1.0
            display.update(task, description=harmless(message), total=total, completed=done_ratio or 0.0)

        yield show


@contextmanager
def shown_if_long(message: str) -> Iterator[None]:
    """A progress line that comes only where the block takes longer than a moment."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    done = threading.Event()

    def wait() -> None:
        if not done.wait(_PATIENCE_S):
            with shown() as show:
                show(message, None)
                done.wait()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    try:
        yield
    finally:
        done.set()
        waiter.join()


def _silent(message: str, done_ratio: float | None) -> None:
    """Show nothing."""
