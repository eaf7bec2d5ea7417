"""Inside Accelerate: a registered manager keeps the place in the data that save_state does not."""

from __future__ import annotations

import json
import os
import socket
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
from tests.resume.loop import together

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


def train_as_rank(folder: Path, rank: int, port: int, checkpoint: Path | None) -> None:
    """Train as one of two processes, and write down what the model saw."""
    environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost"}
    os.environ.update({name: str(value) for name, value in {**environment, "MASTER_PORT": port}.items()})
    torch.set_num_threads(1)
    (folder / f"seen{rank}").write_text(json.dumps(train(folder, 0, checkpoint)))


def seen_by_both(folder: Path, checkpoint: Path | None = None) -> list[Any]:
    """What the models of two processes saw."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    calls: list[Any] = [(train_as_rank, (folder, rank, port, checkpoint), {}) for rank in range(2)]
    assert together(calls) == [0, 0]
    return [json.loads((folder / f"seen{rank}").read_text()) for rank in range(2)]


def test_two_processes(tmp_path: Path) -> None:
    """Accelerate deals one sampler's batches to two processes: both go on where they were, in any epoch."""
    whole = seen_by_both(tmp_path / "whole")
    steps = len(whole[0]) // EPOCHS
    assert steps == SAMPLES // (2 * BATCH)
    for step in (1, steps + 1):
        resumed = seen_by_both(tmp_path / f"from{step}", tmp_path / "whole" / str(step))
        assert resumed == [each[step:] for each in whole]


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
