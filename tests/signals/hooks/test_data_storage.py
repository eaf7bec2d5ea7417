"""Which kind of file system the data lie on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpt_doctor.signals.hooks.data_storage import filesystem
from tests.conftest import Train
from tests.signals.hooks.test_data_wait import LOOP

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:40 / /data rw - nfs4 server:/data rw
31 27 0:41 / /data/my\040set rw - fuse.gcsfuse bucket rw
32 27 0:42 / /data rw - lustre server:/fast rw
"""

NAMED = (
    LOOP
    + """
import os
os.makedirs("files", exist_ok=True)
class Files(Numbers):
    def __init__(self):
        super().__init__()
        self.root = os.path.abspath("files")
        self.many = [(self.root, 0)] * 3
        self.word = "files"
        self.gone = "/nowhere/at/all"
for x, _ in DataLoader(Files(), batch_size=4):
    update(x)
"""
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/x", "ext4"), ("/data/y", "lustre"), ("/data/my set/z", "fuse.gcsfuse"), ("/database", "ext4")],
)
def test_the_innermost_mount_decides(tmp_path: Path, path: str, kind: str) -> None:
    """The longest mount point that holds the path; the last one of several at one place."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert filesystem(path, mounts) == kind


def test_without_a_table_of_mounts_nothing_is_said(tmp_path: Path) -> None:
    """Other systems have none."""
    assert filesystem("/home", tmp_path / "none") is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_folder_that_a_data_set_names(train: Train) -> None:
    """Its attributes tell where it reads, and the fingerprint on what."""
    recorded = train(NAMED)
    assert recorded.process.returncode == 0, recorded.process.stderr
    told = str(recorded.rank.fingerprints[-1].values["data.filesystem"]).split(",")
    assert filesystem(str(recorded.folder), Path("/proc/self/mountinfo")) in told
