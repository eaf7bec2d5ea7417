"""Pages that a script drops stay in memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpt_doctor.agent.treatments.dat203_pages_kept import plan
from ckpt_doctor.facts.treatment import PutBack
from ckpt_doctor.probe.residency import resident_pages
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed
from tests.recorded import MODEL

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mincore and fadvise are Linux's")

SCRIPT = (
    MODEL
    + """
import os
from torch.utils.data import DataLoader, Dataset

class Files(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        with open(f"data{index}", "rb") as file:
            content = file.read()
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return torch.tensor([float(len(content))])

for index in range(2):
    with open(f"data{index}", "wb") as file:
        file.write(os.urandom(2**20))
        os.fsync(file.fileno())
for _ in DataLoader(Files(), num_workers=1):
    step()
"""
)


def test_a_worker_that_drops_its_pages(treat: Treat, tmp_path: Path) -> None:
    """With the treatment all pages are in memory, without it hardly any is."""
    treat(SCRIPT, "DAT203", None)
    dropped = [resident(tmp_path / f"data{index}") for index in range(2)]
    if max(dropped) > 64:
        pytest.skip("this file system keeps pages whatever it is told")
    kept = treat(SCRIPT, "DAT203", {})
    assert [resident(tmp_path / f"data{index}") for index in range(2)] == [256, 256]
    assert len(said(kept)) == 1


def test_the_cache_is_warmed() -> None:
    """The plan asks the probe for what no agent can do."""
    planned = plan(suspected("DAT203"), comparison_of(make_case(control(), resumed())))
    assert isinstance(planned, PutBack)
    assert planned.warm


def resident(path: Path) -> int:
    """How many pages of a file are in memory."""
    return sum(resident_pages(path) or b"")
