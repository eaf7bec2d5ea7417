"""`inspect` and `compare` work without torch, as if it were not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
"""

RUN = """
import sys
from ckpt_doctor.cli.app import run

code = run(sys.argv[1:])
heavy = {"torch", "numpy"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else code)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run and its checkpoint."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "ckpt_doctor", "record", "-o", "rec", "train.py"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "last.pt"),
        ("compare", "--inconclusive-ok", "--before", "rec", "--after", "rec"),
        ("explain", "--list"),
        ("env",),
        ("--help",),
    ],
)
def test_torch_is_not_imported(folder: Path, arguments: tuple[str, ...]) -> None:
    """The command does its work, and torch is not in sys.modules at its end."""
    result = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout
