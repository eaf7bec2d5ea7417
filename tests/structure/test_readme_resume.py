"""What the README shows of the resume library is true: its loops go on after a stop as if there was none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.resume.integrations.rows import Model, Rows, Seen, seed
from tests.structure import readme

SECTION = "Save and restore everything"
SAMPLES, BATCH, EPOCHS = 512, 32, 10
SAVED, STOPPED = 100, 130
"""Steps done at the only save, in the middle of an epoch, and at the stop."""

Names = dict[str, Any]
"""What a block of code takes for granted."""


class Stop(Exception):
    """Ends a run."""


class Table(Rows):
    """More samples, so that the README's numbers make sense."""

    def __len__(self) -> int:
        return SAMPLES


class Stopping(Model):
    """A model that ends the run at some step, if it is told to."""

    def __init__(self, steps: int | None) -> None:
        super().__init__()
        self.steps = steps

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> dict[str, torch.Tensor]:
        """The loss of one batch."""
        if len(self.seen) == self.steps:
            raise Stop
        return super().forward(x, index)


def plain(model: Model) -> Names:
    """A loop of one's own."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return {"optimizer": optimizer, "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 40)}


def lightning(model: Model) -> Names:
    """A module of Lightning."""
    pytorch = pytest.importorskip("lightning.pytorch")
    # Of this the progress bar is made. It draws a random number when it is imported.
    pytest.importorskip("rich.progress")

    class Module(pytorch.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
            return self.model(**batch)["loss"]

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    return {"module": Module()}


def hf_trainer(model: Model) -> Names:
    """Arguments of the Trainer, and weights that are averaged after each batch."""
    transformers = pytest.importorskip("transformers")
    fresh_accelerate()
    average = torch.optim.swa_utils.AveragedModel(model.layers)
    model.register_forward_hook(lambda *_: average.update_parameters(model.layers))
    arguments = transformers.TrainingArguments(
        output_dir="run", num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, save_steps=SAVED,
        logging_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    return {"arguments": arguments, "average": average}


def accelerate(model: Model) -> Names:
    """An accelerator."""
    return {"accelerator": fresh_accelerate().Accelerator(cpu=True), **plain(model)}


def fresh_accelerate() -> Any:
    """Accelerate, which the Trainer uses too, keeps its state in classes: begin without."""
    module = pytest.importorskip("accelerate")
    module.state.AcceleratorState._reset_state(True)
    return module


KINDS: tuple[Callable[[Model], Names], ...] = (plain, lightning, hf_trainer, accelerate)
"""What the section shows, in its order."""


def run(kind: Callable[[Model], Names], stop: int | None = None) -> tuple[Seen, list[float]]:
    """Run a block of the README in the present folder; what the model saw, and averages if it has any."""
    model = Stopping(stop)
    blocks = readme.python_blocks(SECTION)
    assert len(blocks) == len(KINDS)
    names = {"data": Table(), "model": model, **kind(model)}
    block = blocks[KINDS.index(kind)]
    if kind is not plain:
        # Imports and data are those of the first block.
        block = blocks[0].partition("loader = ")[0] + block
    seed()
    exec(compile(block, "README.md", "exec"), names)
    average = names.get("average")
    weights = [] if average is None else [weight.flatten() for weight in average.parameters()]
    return model.seen, torch.cat(weights).tolist() if weights else []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_it_goes_on_as_if_it_had_not_stopped(
    kind: Callable[[Model], Names], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped and started again, the code as it stands sees the losses and samples as if it had gone on."""
    for folder in ("whole", "broken"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "whole")
    seen, average = run(kind)
    assert len(seen) == EPOCHS * SAMPLES // BATCH
    monkeypatch.chdir(tmp_path / "broken")
    with pytest.raises(Stop):
        run(kind, STOPPED)
    assert run(kind) == (seen[SAVED:], average)
