"""Inside Accelerate: a registered manager keeps the place in the data that save_state does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.resume import ResumableRandomSampler, ResumableState, ResumeManager, SeededDataset
from tests.resume.integrations.rows import BATCH, SAMPLES, Model, Rows, Seen, seed

accelerate = pytest.importorskip("accelerate")

EPOCHS = 3
BATCHES = SAMPLES // BATCH


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """Accelerate keeps its state in classes: begin and end without."""
    accelerate.state.AcceleratorState._reset_state(True)
    yield
    accelerate.state.AcceleratorState._reset_state(True)


def train(folder: Path, workers: int, checkpoint: Path | None = None) -> Seen:
    """Train, saving after each step; what the model saw."""
    seed()
    accelerator = accelerate.Accelerator(cpu=True)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = SeededDataset(Rows())
    sampler = ResumableRandomSampler(data, seed=2)
    loader: Any = DataLoader(data, batch_size=BATCH, sampler=sampler, num_workers=workers)
    prepared, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    manager = ResumeManager(ResumableState(loader=loader, flags=False))
    accelerator.register_for_checkpointing(manager)
    if checkpoint is not None:
        accelerator.load_state(str(checkpoint))
    for _ in manager.epochs(EPOCHS):
        for batch in manager.batches():
            accelerator.backward(prepared(**batch)["loss"])
            optimizer.step()
            optimizer.zero_grad()
            manager.state.step += 1
            accelerator.save_state(str(folder / str(manager.state.step)))
    return model.seen


@pytest.mark.parametrize("workers", [0, 2])
def test_from_every_step_on(tmp_path: Path, workers: int) -> None:
    """Resumed from the folder of any step of an epoch: same losses and indices, bit by bit."""
    whole = train(tmp_path / "whole", workers)
    assert len(whole) == EPOCHS * BATCHES
    for step in range(BATCHES, 2 * BATCHES + 1):
        assert train(tmp_path / f"from{step}", workers, tmp_path / "whole" / str(step)) == whole[step:]


def test_inspect_reads_it(tmp_path: Path) -> None:
    """`inspect` knows a folder of Accelerate, and finds what was registered."""
    train(tmp_path, 0)
    facts = read_checkpoint(str(tmp_path / "7"))
    assert facts.layout == "accelerate"
    present = {kind for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert present >= {
        StateKind.MODEL, StateKind.OPTIMIZER, StateKind.STEP, StateKind.EPOCH, StateKind.SAMPLER_EPOCH,
        StateKind.SAMPLER_RNG, StateKind.DATALOADER_POSITION, StateKind.TORCH_RNG,
    }  # fmt: skip
