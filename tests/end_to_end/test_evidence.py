"""What people have besides recordings says the same as a recording of the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.facts.comparison import Window
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.run import StepSeries
from ckpt_doctor.readers.recordings import read_recording
from tests.end_to_end.test_frameworks import needs
from tests.recorded import record_command

EVERY = 5
SAVED = 60
STEPS = 200

TRANSFORMERS = """
import sys
import torch
from transformers import Trainer, TrainingArguments

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        up, down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)
        self.layers = torch.nn.Sequential(up, torch.nn.GELU(), down)
    def forward(self, x=None):
        return {"loss": (self.layers(x) - x).square().mean()}

torch.manual_seed(0)
data = [{"x": torch.rand(256)} for _ in range(4000)]
args = TrainingArguments(output_dir="out", max_steps=int(sys.argv[1]), per_device_train_batch_size=16,
                         use_cpu=True, report_to="tensorboard", logging_steps=5, save_steps=60,
                         disable_tqdm=True, include_num_input_tokens_seen=True)
Trainer(Net(), args, train_dataset=data).train(resume_from_checkpoint=sys.argv[2] if sys.argv[2:] else None)
"""

LIGHTNING = """
import sys
import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from torch.utils.data import DataLoader, TensorDataset

class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        up, down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)
        self.layers = torch.nn.Sequential(up, torch.nn.GELU(), down)
    def training_step(self, batch, index):
        loss = (self.layers(batch[0]) - batch[0]).square().mean()
        self.log("train_loss", loss)
        return loss
    def validation_step(self, batch, index):
        self.log("val_loss", (self.layers(batch[0]) - batch[0]).square().mean())
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)

L.seed_everything(0, verbose=False)
loader = DataLoader(TensorDataset(torch.rand(640, 256)), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(torch.rand(64, 256)), batch_size=16)
saves = ModelCheckpoint("out", "{step}", every_n_train_steps=60, save_top_k=-1)
trainer = L.Trainer(max_steps=int(sys.argv[1]), max_epochs=-1, accelerator="cpu", log_every_n_steps=5,
                    logger=TensorBoardLogger("out", name="lightning_logs"), enable_progress_bar=False,
                    enable_model_summary=False, callbacks=[saves])
trainer.fit(Module(), loader, valid, ckpt_path=sys.argv[2] if sys.argv[2:] else None)
"""


def record_pair(folder: Path, script: str, checkpoint: str) -> list[StepSeries]:
    """A run and its resume, recorded while they write their own evidence; the steps that the agent saw."""
    found = []
    for name, arguments in (("before", []), ("after", [f"../before/out/{checkpoint}"])):
        here = folder / name
        here.mkdir()
        (here / "train.py").write_text(script)
        steps = STEPS + (SAVED if arguments else 0)
        done = record_command(here, here / "rec", ["train.py", str(steps), *arguments], {})
        assert done.returncode == 0, done.stderr
        (rank,) = read_recording(here / "rec").ranks
        assert len(rank.steps) == STEPS
        found.append(rank.steps)
    return found


def check_step_time(window: Window, agent: StepSeries, first: int) -> None:
    """Check that evidence and agent agree within 5 % on the time of the same steps.

    Args:
        window: The compared entries, one every few steps.
        agent: The steps of the same process.
        first: Steps that the process had done at its first entry.
    """
    assert window.rank.steps.strides is not None
    assert set(window.rank.steps.strides) == {EVERY}
    low, high = first + EVERY * window.first, first + EVERY * window.last
    agent_s = (agent.t_end_s[high - 1] - agent.t_end_s[low - 1]) / (high - low)
    assert window.step_s == pytest.approx(agent_s, rel=0.05)


@pytest.mark.long
def test_transformers(tmp_path: Path) -> None:
    """The Trainer's TensorBoard folders and states give the step times that the agent measured.

    Its own speed, which it counts from the resume nowadays, is no contradiction.
    """
    needs("transformers")
    needs("accelerate")
    needs("tensorboardX")
    agents = record_pair(tmp_path, TRANSFORMERS, f"checkpoint-{SAVED}")
    folders = [str(tmp_path / name / "out") for name in ("before", "after")]
    states = [
        f"{folders[0]}/checkpoint-180/trainer_state.json",
        f"{folders[1]}/checkpoint-240/trainer_state.json",
    ]
    for paths in (folders, states):
        report = doctor.compare(*paths, Policy())
        assert report.comparison is not None
        assert "MSR907" not in {finding.code for finding in report.findings}
        windows = (report.comparison.before, report.comparison.after)
        for window, agent in zip(windows, agents, strict=True):
            check_step_time(window, agent, EVERY)


@pytest.mark.long
def test_lightning(tmp_path: Path) -> None:
    """Lightning's TensorBoard folders do, too, validation between the epochs included."""
    needs("lightning")
    needs("tensorboardX")
    agents = record_pair(tmp_path, LIGHTNING, f"step={SAVED}.ckpt")
    report = doctor.compare(str(tmp_path / "before" / "out"), str(tmp_path / "after" / "out"), Policy())
    assert report.comparison is not None
    windows = (report.comparison.before, report.comparison.after)
    for window, agent in zip(windows, agents, strict=True):
        check_step_time(window, agent, EVERY)
