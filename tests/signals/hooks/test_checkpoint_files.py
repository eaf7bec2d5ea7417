"""Saves and loads of checkpoints, through each library's own functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ckpt_doctor.signals.hooks import checkpoint_files
from tests.conftest import Train
from tests.recorded import MODEL, Recorded, check_parts

TORCH = (
    MODEL
    + """
import io, pathlib
from torch import save
state = {"model": model.state_dict(), "big": torch.zeros(1_000_000)}
step()
torch.save(state, "path.pt")
step()
save(state, f=pathlib.Path("pathlib.pt"))
with open("file.pt", "wb") as file:
    torch.save(state, file)
buffer = io.BytesIO()
torch.serialization.save(state, buffer)
step()
buffer.seek(0)
torch.load(buffer)
torch.load("path.pt")
with open("file.pt", "rb") as file:
    torch.load(file, map_location="cpu", weights_only=True)
try:
    torch.load("missing.pt")
except FileNotFoundError:
    print("missing")
step()
step()
"""
)

SAFETENSORS = (
    MODEL
    + """
from safetensors.torch import load_file, save_file
step()
save_file(model.state_dict(), "model.safetensors")
model.load_state_dict(load_file("model.safetensors"))
step()
"""
)

DISTRIBUTED = (
    MODEL
    + """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict_saver import save
step()
dcp.save({"model": model.state_dict()}, checkpoint_id="first")
save({"model": model.state_dict()}, storage_writer=dcp.FileSystemWriter("second"))
step()
state = {"model": model.state_dict()}
dcp.load(state, checkpoint_id="first")
dcp.load(state, storage_reader=dcp.FileSystemReader("second"))
step()
"""
)

ASYNCHRONOUS = (
    MODEL
    + """
import torch.distributed.checkpoint as dcp
for name in ("first", "second"):
    step()
    saved = dcp.async_save({"model": model.state_dict()}, checkpoint_id=name, no_dist=True)
    getattr(saved, "upload_completion", saved).result()
step()
"""
)

IN_A_THREAD = (
    MODEL
    + """
import threading
from torch.utils.data import DataLoader, Dataset
def save(path):
    thread = threading.Thread(target=torch.save, args=(model.state_dict(), path))
    thread.start(); thread.join()
class Data(Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, index):
        save("waiting.pt")
        return torch.rand(8)
step()
save("thread.pt")
step()
for x in DataLoader(Data()):
    step()
"""
)

SAMPLES = (
    MODEL
    + """
from torch.utils.data import DataLoader, Dataset
for index in range(8):
    torch.save(torch.rand(8), f"{{index}}.pt")
step()
class Files(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.load(f"{{index}}.pt")
for x in DataLoader(Files(), batch_size=2, num_workers={workers}):
    step()
"""
)


def told(recorded: Recorded, signal: str) -> list[tuple[int, str | None, str]]:
    """Step, file name and function of each save or load."""
    assert recorded.process.returncode == 0, recorded.process.stderr
    found = []
    for event in recorded.events(signal):
        path = event.fields["path"]
        assert path is None or Path(str(path)).is_absolute()
        assert event.duration_s is not None
        assert event.duration_s > 0
        name = None if path is None else Path(str(path)).name
        found.append((event.step, name, str(event.fields["function"]).rpartition(".")[2]))
    return found


def test_torch_save(train: Train) -> None:
    """torch.save to a path or a file tells where to; into a buffer, that it was one; each in its step."""
    assert told(train(TORCH), "save") == [
        (1, "path.pt", "save"),
        (2, "pathlib.pt", "save"),
        (2, "file.pt", "save"),
        (2, None, "save"),
    ]


def test_torch_load(train: Train) -> None:
    """torch.load likewise; a load that fails is none, and raises what it would."""
    recorded = train(TORCH)
    assert told(recorded, "load") == [(3, None, "load"), (3, "path.pt", "load"), (3, "file.pt", "load")]
    assert recorded.process.stdout == "missing\n"


def test_time_spent_in_saving(train: Train) -> None:
    """Saving is a part of the step that it happens in, and of no other."""
    recorded = train(TORCH)
    saving_s = recorded.steps.parts["saving"]
    assert [seconds > 0 for seconds in saving_s] == [False, True, True, True, False]
    events_s = sum(e.duration_s or 0 for e in recorded.events("save") if e.step == 2)
    assert saving_s[2] == pytest.approx(events_s, rel=0.5)
    check_parts(recorded.steps)


def test_the_line_that_saves(train: Train) -> None:
    """The user's own line is told."""
    first = train(TORCH).events("save")[0].fields
    line = TORCH.splitlines()[int(str(first["line"])) - 1]
    assert line == 'torch.save(state, "path.pt")'


def test_safetensors(train: Train) -> None:
    """save_file and load_file are seen."""
    pytest.importorskip("safetensors")
    recorded = train(SAFETENSORS)
    assert told(recorded, "save") == [(1, "model.safetensors", "save_file")]
    assert told(recorded, "load") == [(1, "model.safetensors", "load_file")]


def test_distributed_checkpoints(train: Train) -> None:
    """A distributed checkpoint is one save or load of its folder, whatever it calls inside."""
    recorded = train(DISTRIBUTED)
    assert told(recorded, "save") == [(1, "first", "save"), (1, "second", "save")]
    assert told(recorded, "load") == [(2, "first", "load"), (2, "second", "load")]
    check_parts(recorded.steps)


def test_saving_in_the_background(train: Train) -> None:
    """An asynchronous save of a distributed checkpoint is one save, whatever its threads call."""
    recorded = train(ASYNCHRONOUS)
    assert told(recorded, "save") == [(1, "first", "async_save"), (2, "second", "async_save")]


class _Recorder:
    """Stands for the agent: while it ends a part of the step, another thread saves."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.told, self.thread = module, list[str](), threading.get_ident()

    def wrap(self, owner: object, name: str, make: Callable[[Any], Any]) -> None:
        setattr(owner, name, make(getattr(owner, name)))

    def in_training_thread(self) -> bool:
        return threading.get_ident() == self.thread

    def inside(self, part: int) -> bool:
        return False

    def push(self, part: int) -> None: ...

    def pop(self) -> None:
        saving = threading.Thread(target=self.module.save, kwargs={"checkpoint_id": "meanwhile"})
        saving.start()
        saving.join()

    def running_step(self) -> int:
        return 0

    def about_to_write(self, path: str) -> None: ...

    def still_writing(self, written: object) -> None: ...

    def checkpoint_touched(self, signal: str, duration_s: float, **fields: object) -> None:
        self.told.append(Path(str(fields["path"])).name)

    def saved_aside(self, step: int, duration_s: float, **fields: object) -> None:
        self.told.append(Path(str(fields["path"])).name)


@pytest.mark.parametrize(("goes_on", "told"), [(True, ["called"]), (False, ["meanwhile", "called"])])
def test_a_thread_that_saves_as_the_call_ends(goes_on: bool, told: list[str]) -> None:
    """What a thread saves is a part of the save that goes on in the background, from its call on."""
    written: Future[None] = Future()
    module: Any = ModuleType("torch.distributed.checkpoint.state_dict_saver")
    module.save = lambda checkpoint_id: None
    module.async_save = lambda checkpoint_id: written if goes_on else None
    recorder: Any = _Recorder(module)
    checkpoint_files.install(recorder, module)
    module.async_save(checkpoint_id="called")
    written.set_result(None)
    assert recorder.told == told


def test_saving_in_a_thread(train: Train) -> None:
    """A save beside the training is one, also while that waits, and costs the step nothing of its own."""
    recorded = train(IN_A_THREAD)
    assert told(recorded, "save") == [(1, "thread.pt", "save"), (2, "waiting.pt", "save")]
    assert sum(recorded.steps.parts["saving"]) == 0
    check_parts(recorded.steps)


@pytest.mark.parametrize("workers", [0, 1])
def test_samples_in_files(train: Train, workers: int) -> None:
    """A data set that reads its samples with torch.load loads no checkpoint: it makes the step wait."""
    recorded = train(SAMPLES.format(workers=workers))
    assert len(recorded.steps) == 5
    assert len(told(recorded, "save")) == 8
    assert told(recorded, "load") == []
    assert sum(recorded.steps.parts["saving"][1:]) == 0
    assert min(recorded.steps.parts["data_wait"][1:]) > 0
    assert [path.name for path in recorded.folder.glob(f"rank{recorded.number:05d}-*")] == [
        f"rank{recorded.number:05d}-{recorded.rank.pid}.jsonl"
    ]
