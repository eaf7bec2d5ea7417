"""A resumed run finds what torch.compile made before, also where the cache folder is empty."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.resume import compile_cache
from tests.structure.source import ROOT


def train(folder: Path, scratch: Path, steps: int = 1) -> dict[str, Any]:
    """Train in a process that has never compiled anything, and whose cache folders are its own."""
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch), "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor")}
    command = [sys.executable, "-m", "tests.resume.compiled", str(folder), str(steps)]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    told: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return told


def libraries(told: dict[str, Any]) -> list[str]:
    """The libraries that the C++ compiler made."""
    return [path for path in told["compiled"] if path.endswith(".so")]


@pytest.mark.long
def test_in_a_fresh_cache_folder(tmp_path: Path) -> None:
    """Hits, no miss, no library compiled again; and so again from what the resumed run has saved."""
    cold = train(tmp_path / "run", tmp_path / "cold")
    assert cold["misses"]
    assert libraries(cold)
    for scratch in ("warm", "warm_again"):
        warm = train(tmp_path / "run", tmp_path / scratch)
        assert warm["complete"], warm["lines"]
        assert sum(warm["hits"].values()) >= sum(cold["misses"].values())
        assert not any(warm["misses"].values())
        assert not libraries(warm)


def test_another_machine() -> None:
    """Artifacts of another torch are not loaded, and the report says why."""
    saved = {
        "key": "torch 1.0",
        "artifacts": torch.empty(0),
        "libraries": [],
        "library_bytes": torch.empty(0),
    }
    why = compile_cache.load_cache(saved)
    assert why is not None
    assert why.startswith("made for torch 1.0; this is torch ")


def test_nothing_outside_of_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads out of the cache folder is not written to."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    content = torch.tensor([1, 2, 3], dtype=torch.uint8)
    saved = {
        "key": compile_cache.cache_key(),
        "artifacts": torch.empty(0, dtype=torch.uint8),
        "libraries": [["../outside.so", 1], ["ab/inside.so", 2]],
        "library_bytes": content,
    }
    assert compile_cache.load_cache(saved) == "torch could not read them"
    assert not (tmp_path / "outside.so").exists()
    assert (tmp_path / "cache" / "ab" / "inside.so").read_bytes() == bytes([2, 3])
