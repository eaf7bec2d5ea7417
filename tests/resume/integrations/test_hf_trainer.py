"""Inside the Hugging Face Trainer: what its checkpoints lack comes back with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim.swa_utils import AveragedModel

from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.resume import ResumableState, ResumeManager, SeededDataset
from tests.resume.integrations.rows import BATCH, SAMPLES, Model, Rows, Seen, seed

transformers = pytest.importorskip("transformers")

EPOCHS = 3
BATCHES = SAMPLES // BATCH


def train(folder: Path, workers: int, checkpoint: Path | None = None) -> tuple[Seen, list[float]]:
    """Train, saving after each step; what the model saw, and its averaged weights in the end."""
    from ckpt_doctor.resume.integrations.hf_trainer import ResumeCallback

    seed()
    model = Model()
    ema = AveragedModel(model.layers)

    class Average(transformers.TrainerCallback):  # type: ignore[name-defined,misc]
        def on_optimizer_step(self, *_: Any, **__: Any) -> None:
            ema.update_parameters(model.layers)

    manager = ResumeManager(ResumableState(ema=ema, flags=False))
    callback = ResumeCallback(manager, checkpoint)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, save_steps=1,
        logging_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, dataloader_num_workers=workers,
        remove_unused_columns=False, learning_rate=1e-2, seed=4,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=SeededDataset(Rows()),
        callbacks=[callback, Average()],
    )
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    assert (callback.report is None) == (checkpoint is None)
    assert callback.report is None or callback.report.complete
    return model.seen, torch.cat([p.flatten() for p in ema.parameters()]).tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_from_every_step_on(tmp_path: Path, workers: int) -> None:
    """Resumed from the checkpoint of any step of an epoch: same losses, indices and averages, bit by bit."""
    seen, average = train(tmp_path / "whole", workers)
    assert len(seen) == EPOCHS * BATCHES
    for step in range(BATCHES, 2 * BATCHES + 1):
        checkpoint = tmp_path / "whole" / f"checkpoint-{step}"
        assert train(tmp_path / f"from{step}", workers, checkpoint) == (seen[step:], average)


def test_the_folder_is_found(tmp_path: Path) -> None:
    """The checkpoint is one of the Trainer's, with what the callback has added."""
    train(tmp_path, 0)
    facts = read_checkpoint(str(tmp_path / "checkpoint-7"))
    assert facts.layout == "hf_trainer"
    present = {kind for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert present >= {
        StateKind.MODEL,
        StateKind.OPTIMIZER,
        StateKind.EMA,
        StateKind.TORCH_RNG,
        StateKind.STEP,
    }
