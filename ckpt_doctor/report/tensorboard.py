"""The steps of both runs as scalars for TensorBoard: one run of it each, over relative steps.

The files are written by tensorboardX, which needs neither torch nor TensorFlow. Each run goes into a
folder named after the time at which it was recorded, so that several comparisons may share a folder. What a
run stood still while the other took its turn is no part of its times: they can be laid over each other.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_doctor.report import series

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Window
    from ckpt_doctor.facts.report import Report

SUFFIXES: tuple[str, ...] = ()
NEEDS = ("tensorboardX",)


def write(report: Report, folder: Path) -> None:
    """Write one event file for each run; an empty folder where no runs were compared.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.mkdir(exist_ok=True)
    comparison = report.comparison
    if comparison is not None:
        for arm, window in (("before", comparison.before), ("after", comparison.after)):
            _write(window, folder / f"{_recorded(window)}-{arm}")


def _recorded(window: Window) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(window.run.meta.created_unix_s))


def _write(window: Window, folder: Path) -> None:
    from tensorboardX import SummaryWriter

    steps = window.rank.steps
    created_s, running_s = window.run.meta.created_unix_s, series.running_time(window)
    with SummaryWriter(str(folder)) as writer:
        for i in range(window.origin, len(steps)):
            at = {"global_step": i - window.origin, "walltime": created_s + running_s(steps.t_end_s[i])}
            writer.add_scalar("step_s", steps.step_s(i), **at)
            for part, column in steps.parts.items():
                writer.add_scalar(f"parts/{part}_s", column[i], **at)
            for name, values in steps.counters.items():
                value = values[i]
                if value is not None:
                    writer.add_scalar(f"counters/{name}", value, **at)
