"""Hugging Face Trainer: what its checkpoints lack, in a file of their own beside its files.

The Trainer keeps the model, the optimizer, the scheduler and the generators, and finds its place in
the data by passing over the indices of the batches that are done. This callback keeps the rest of
``ResumableState`` (averaged weights, backend flags and threads, the compile cache, parts of your
own) and tells a ``SeededDataset`` the epoch::

    manager = ResumeManager(ResumableState(ema=ema))
    trainer = Trainer(..., train_dataset=SeededDataset(data), callbacks=[ResumeCallback(manager)])
    trainer.train(resume_from_checkpoint=True)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ckpt_doctor.resume.atomic import sync
from ckpt_doctor.resume.manager import ResumeManager
from ckpt_doctor.resume.ranks import on_first
from ckpt_doctor.resume.report import ResumeReport
from ckpt_doctor.resume.whole import read_whole_file, write_whole_file

FILE = "resume_manager.pt"
"""Name of the file within ``checkpoint-N``."""


class ResumeCallback(TrainerCallback):
    """Saves and restores with the Trainer's checkpoints.

    Args:
        manager: Its state has neither the model, the optimizer and the scheduler, which the Trainer
            keeps, nor the loader, which it makes. It needs no folder.
        checkpoint: What ``resume_from_checkpoint`` names, where that is a path outside of
            ``output_dir``; None for the folder of the step that the Trainer resumes at.
    """

    def __init__(self, manager: ResumeManager, checkpoint: str | os.PathLike[str] | None = None) -> None:
        self.manager = manager
        self.report: ResumeReport | None = None
        """What was put back; None where nothing was resumed."""
        self._checkpoint = None if checkpoint is None else Path(checkpoint)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Put the state back, where the Trainer resumes from a checkpoint that has it."""
        path = (self._checkpoint or _folder(args, state)) / FILE
        if state.global_step and path.is_file():
            self.report = self.manager.restore(read_whole_file(path))

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Tell the data set which epoch its samples are for."""
        dataset = getattr(kwargs.get("train_dataloader"), "dataset", None)
        set_epoch = getattr(dataset, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(int(state.epoch or 0))

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Write the state into the checkpoint that the Trainer has just written."""
        self.manager.state.step, self.manager.state.epoch = state.global_step, int(state.epoch or 0)
        captured = self.manager.capture()
        on_first(lambda: _write(captured, _folder(args, state) / FILE))


def _folder(args: TrainingArguments, state: TrainerState) -> Path:
    return Path(args.output_dir or ".") / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"


def _write(captured: dict[str, Any], path: Path) -> None:
    unfinished = path.with_name(f"{path.name}.tmp")
    write_whole_file(captured, unfinished)
    sync(unfinished)
    unfinished.replace(path)
    sync(path.parent)
