"""What the machine's memory still holds beside the runs that there are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import psutil

from ckpt_doctor import units
from ckpt_doctor.errors import MachineError
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.residency import Warmed

MARGIN_RATIO = 1.2
"""A run may grow by so much."""
WARM_SHARE = 0.5
"""Part of the free memory that data files may fill where they are to stay in memory."""


def holds_more(arm: Arm, runs: int = 1) -> bool:
    """Whether so many more runs as large as this one fit into memory; where that is unknown, they do."""
    try:
        tree = psutil.Process(arm.root).children(recursive=True)
        need_bytes = runs * sum(process.memory_info().rss for process in tree) * MARGIN_RATIO
    except psutil.Error:
        return True
    return need_bytes <= psutil.virtual_memory().available


def warmed(files: Iterable[Path], pair: tuple[Arm, Arm], checkpoint: Path) -> Warmed:
    """A view with all data files in memory; other checkpoints beside this one are none.

    Raises:
        MachineError: Free memory does not hold them.
    """
    read = pair[0].read_files() | pair[1].read_files()
    view = Warmed(path for path in files if path in read or path.parent != checkpoint.parent)
    free_bytes = psutil.virtual_memory().available
    if view.resident_bytes > WARM_SHARE * free_bytes:
        raise MachineError(
            f"the data files ({units.size(view.resident_bytes)}) do not fit into free memory "
            f"({units.size(free_bytes)})"
        )
    return view
