"""Inside Lightning: the Trainer goes on from its own checkpoint as if it had not stopped."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.resume import ResumableRandomSampler, ResumableState, ResumeManager, SeededDataset
from tests.resume.integrations.rows import BATCH, SAMPLES, Model, Rows, Seen, seed

lightning = pytest.importorskip("lightning.pytorch")

EPOCHS = 3
BATCHES = SAMPLES // BATCH


def fit(folder: Path, workers: int, checkpoint: Path | None = None, *, at_end: bool = False) -> Seen:
    """Train, saving after each step or at the end of each epoch; what the model saw."""
    from ckpt_doctor.resume.integrations.lightning import ResumeCallback

    class Module(lightning.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
            return self.model(**batch)["loss"]

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    seed()
    data = SeededDataset(Rows())
    sampler = ResumableRandomSampler(data, seed=2)
    loader: DataLoader[Any] = DataLoader(data, batch_size=BATCH, sampler=sampler, num_workers=workers)
    manager = ResumeManager(ResumableState(loader=loader, flags=False))
    callback = ResumeCallback(manager)
    when = {"save_on_train_epoch_end": True} if at_end else {"every_n_train_steps": 1}
    saver = lightning.callbacks.ModelCheckpoint(
        folder, filename="{step}", save_top_k=-1, auto_insert_metric_name=False, **when
    )
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=EPOCHS, logger=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[saver, callback], use_distributed_sampler=False,
    )  # fmt: skip
    module = Module()
    trainer.fit(module, loader, ckpt_path=checkpoint)
    assert (callback.report is None) == (checkpoint is None)
    assert callback.report is None or callback.report.complete
    assert manager.state.epoch == EPOCHS
    return module.model.seen


@pytest.mark.parametrize("workers", [0, 2])
def test_from_every_step_on(tmp_path: Path, workers: int) -> None:
    """Resumed from the checkpoint of any step of an epoch: same losses and indices, bit by bit."""
    whole = fit(tmp_path / "whole", workers)
    assert len(whole) == EPOCHS * BATCHES
    for step in range(BATCHES, 2 * BATCHES + 1):
        assert fit(tmp_path / f"from{step}", workers, tmp_path / "whole" / f"{step}.ckpt") == whole[step:]


def test_from_the_end_of_an_epoch_on(tmp_path: Path) -> None:
    """So too from a checkpoint that was saved when an epoch had ended."""
    whole = fit(tmp_path / "whole", 1, at_end=True)
    checkpoint = tmp_path / "whole" / f"{BATCHES}.ckpt"
    assert fit(tmp_path / "resumed", 1, checkpoint, at_end=True) == whole[BATCHES:]


def test_inspect_reads_it(tmp_path: Path) -> None:
    """`inspect` knows a checkpoint of Lightning, and finds what the callback has added."""
    fit(tmp_path, 0)
    facts = read_checkpoint(str(tmp_path / "7.ckpt"))
    assert facts.layout == "lightning"
    present = {kind for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert present >= {
        StateKind.MODEL, StateKind.OPTIMIZER, StateKind.STEP, StateKind.EPOCH, StateKind.SAMPLER_EPOCH,
        StateKind.SAMPLER_RNG, StateKind.DATALOADER_POSITION, StateKind.TORCH_RNG, StateKind.NUMPY_RNG,
        StateKind.PYTHON_RNG, StateKind.CUDA_RNG,
    }  # fmt: skip


def test_no_false_alarm(tmp_path: Path) -> None:
    """Lightning does not warn that the loader could not be resumed: its place comes back."""
    fit(tmp_path / "whole", 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(tmp_path / "resumed", 0, tmp_path / "whole" / f"{BATCHES + 2}.ckpt")
    assert not [each for each in caught if "resuming" in str(each.message)]
