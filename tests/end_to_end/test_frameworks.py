"""Frameworks that bring loaders and loops of their own are measured like a plain loop."""

from __future__ import annotations

import importlib.util

import pytest

from tests.conftest import Record
from tests.recorded import check_parts

ACCELERATE = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(24, 8)), batch_size=3, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(2):
    for x, in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(x).sum())
            optimizer.step()
            optimizer.zero_grad()
accelerator.save_state("state")
optimizer.step()
"""

LIGHTNING = """
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(24, 8)), batch_size=3, shuffle=True)
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False,
                    enable_model_summary=False, default_root_dir=".")
trainer.fit(Module(), loader)
"""

TRANSFORMERS = """
import torch
from torch.utils.data import TensorDataset
from transformers import Trainer, TrainingArguments
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def forward(self, x=None):
        return {"loss": self.layer(x).sum()}
data = [{"x": torch.rand(8)} for _ in range(24)]
args = TrainingArguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=3, use_cpu=True,
                         report_to=[], save_steps=8, disable_tqdm=True)
Trainer(Net(), args, train_dataset=data).train()
"""


def needs(library: str) -> None:
    """Skip where a library is not installed."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")


def test_accelerate(record: Record) -> None:
    """A prepared loader's batches are counted, and accumulation makes one step out of two of them."""
    needs("accelerate")
    recorded = record(ACCELERATE)
    assert recorded.process.returncode == 0, recorded.process.stderr
    steps = recorded.steps
    assert recorded.counts("optimizer_steps")[:8] == [1] * 8
    assert recorded.counts("backwards")[:8] == [2] * 8
    assert sum(filter(None, recorded.counts("batches"))) == 16
    assert steps.digest_source == "indices"
    assert recorded.events("loader")[0].fields["batch_size"] == 3
    assert any("state" in str(event.fields["path"]) for event in recorded.events("save"))
    check_parts(steps)


@pytest.mark.long
def test_lightning(record: Record) -> None:
    """A Trainer's loop has a step an update, fed by its loader; its own checkpoints are seen."""
    needs("lightning")
    recorded = record(LIGHTNING)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert len(recorded.steps) == 16
    assert recorded.counts("backwards") == [1] * 16
    assert sum(filter(None, recorded.counts("batches"))) == 16
    assert recorded.steps.digest_source == "indices"
    assert recorded.events("save")
    check_parts(recorded.steps)


@pytest.mark.long
def test_transformers(record: Record) -> None:
    """Hugging Face's Trainer likewise."""
    needs("transformers")
    needs("accelerate")
    recorded = record(TRANSFORMERS)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert len(recorded.steps) == 16
    assert sum(filter(None, recorded.counts("batches"))) == 16
    assert recorded.steps.digest_source == "indices"
    assert recorded.events("save")
    check_parts(recorded.steps)
