"""A checkpoint's file is loaded without running what stands in it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.resume.sharded import _LoadPlanner
from ckpt_doctor.resume.whole import FILE, read_whole


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_code_is_refused(tmp_path: Path) -> None:
    """An object that would run code is told of in one line, and does not run it."""
    torch.save({"resume_manager": 1, "step": Evil(tmp_path / "ran")}, tmp_path / FILE)
    with pytest.raises(CheckpointError, match="cannot be loaded") as caught:
        read_whole(tmp_path)
    assert "\n" not in caught.value.what
    assert not (tmp_path / "ran").exists()


def test_code_in_a_value_of_several_ranks_is_refused(tmp_path: Path) -> None:
    """So too in what torch.distributed.checkpoint keeps of values that are no tensors."""
    content = io.BytesIO()
    torch.save(Evil(tmp_path / "ran"), content)
    content.seek(0)
    item: Any = SimpleNamespace(dest_index=SimpleNamespace(fqn="step"))
    with pytest.raises(Exception, match="weights_only"):
        _LoadPlanner().load_bytes(item, content)
    assert not (tmp_path / "ran").exists()
