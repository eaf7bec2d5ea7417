"""PyTorch Lightning: what a resumed Trainer lacks, inside its own checkpoints.

Lightning keeps the model, optimizers, schedulers, the scaler and its loops. It keeps no random
numbers, and no place in the data for a DataLoader without a state of its own. This callback adds
both, and the rest of ``ResumableState``, to every checkpoint that the Trainer writes::

    loader = DataLoader(data, batch_size=32, sampler=ResumableRandomSampler(data))
    manager = ResumeManager(ResumableState(loader=loader))
    trainer = Trainer(callbacks=[ResumeCallback(manager)], use_distributed_sampler=False)
    trainer.fit(module, loader, ckpt_path="last")
"""

from __future__ import annotations

import warnings
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from ckpt_doctor.resume.captured import MARK
from ckpt_doctor.resume.manager import ResumeManager
from ckpt_doctor.resume.report import ResumeReport

_FALSE_ALARM = "You're resuming from a checkpoint that ended before the epoch ended"
"""How Lightning begins to warn of a loader without a state of its own; here its sampler has one."""


class ResumeCallback(Callback):
    """Saves and restores with the Trainer's checkpoints.

    Args:
        manager: Its state has the training loader that is given to ``fit``, and neither the model
            nor the optimizer, which Lightning keeps itself. It needs no folder.
    """

    def __init__(self, manager: ResumeManager) -> None:
        self.manager = manager
        self.report: ResumeReport | None = None
        """What was put back; None where nothing was resumed."""

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Add the state to a checkpoint."""
        self.manager.state.step = trainer.global_step
        checkpoint[MARK] = self.manager.capture()

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Put the state back before the Trainer asks the loader for its first batch."""
        if MARK in checkpoint:
            self.report = self.manager.restore(checkpoint[MARK])
            if self.manager.state.loader is not None:
                warnings.filterwarnings("ignore", _FALSE_ALARM)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The Trainer has begun to iterate the loader."""
        self.manager.loader_began()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count the batch. The Trainer takes an epoch for done as soon as its last batch is."""
        self.manager.count_batch()
        if trainer.is_last_batch:
            self.manager.end_epoch()
