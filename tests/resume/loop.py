"""A training loop that draws random numbers wherever it can, may be killed anywhere, and tells all it does.

Each function runs in a process of its own; ``runs`` starts them from one that has imported torch.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Dataset

from ckpt_doctor.resume import (
    ResumableDistributedSampler,
    ResumableState,
    ResumeManager,
    SeededDataset,
)

SAMPLES = 40
BATCH = 8
BATCHES = SAMPLES // BATCH
EPOCHS = 3
FILE_EVENTS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir")


@dataclass(frozen=True)
class Crash:
    """When a run is killed."""

    step: int
    """Steps done by then, as ``state.step`` counts them."""
    moment: str
    """``before step``, ``after save``, ``writing`` (in the middle of the file) or ``event``."""
    event: int = 0
    """For ``event``: how many changes the save may make to files and folders."""


class Noisy(Dataset[Any]):
    """Samples that are different each time, by torch's, numpy's and Python's generators."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Any:
        x = torch.full((6,), index / SAMPLES) + 0.1 * torch.rand(6)
        x[0] += 0.1 * float(numpy.random.rand())
        x[1] += 0.1 * random.random()
        return x, index


def train(
    folder: Path,
    log: Path,
    *,
    workers: int = 0,
    crash: Crash | None = None,
    stop: int | None = None,
    save_every: int = 1,
    seeded: bool = True,
    persistent: bool = False,
    ranks: int = 1,
    rank: int = 0,
    rendezvous: Path | None = None,
    wrap: Callable[[nn.Module], nn.Module] | None = None,
) -> None:
    """Train for three epochs or up to a step, from the newest checkpoint; each step is a line of the log."""
    torch.set_num_threads(1)
    if rendezvous is not None:
        dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    torch.manual_seed(7 + rank)
    numpy.random.seed(7 + rank)
    random.seed(7 + rank)
    torch.manual_seed(1)
    model: nn.Module = nn.Sequential(
        nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Dropout(0.3), nn.ReLU(), nn.Linear(12, 1)
    )
    torch.manual_seed(7 + rank)
    ema = AveragedModel(model) if wrap is None else None
    bare = model
    if wrap is not None:
        model = wrap(model)
    elif ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [4, 9], gamma=0.5)
    data: Any = SeededDataset(Noisy(), seed=3) if seeded else Noisy()
    loader: DataLoader[Any] = DataLoader(
        data,
        batch_size=BATCH // ranks,
        sampler=ResumableDistributedSampler(data, seed=5),
        num_workers=workers,
        persistent_workers=persistent,
        # A process that a server forked would start a server of its own for its workers.
        multiprocessing_context="fork" if workers else None,
    )
    state = ResumableState(
        model=model, optimizer=optimizer, scheduler=scheduler, ema=ema, loader=loader, flags=False
    )
    manager = ResumeManager(state, folder, keep=2)
    manager.load()
    lines = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in manager.epochs(EPOCHS):
        for x, indices in manager.batches():
            noise = float(torch.rand(())) + float(numpy.random.rand()) + random.random()
            loss = (model(x).squeeze(1) - indices / SAMPLES).square().mean() * (1 + 0.01 * noise)
            optimizer.zero_grad()
            loss.backward()
            if crash == Crash(state.step, "before step"):
                kill()
            optimizer.step()
            scheduler.step()
            if ema is not None:
                ema.update_parameters(bare)
            state.step += 1
            os.write(lines, f"{state.step} {loss.item().hex()} {indices.tolist()}\n".encode())
            if state.step % save_every == 0:
                if crash is not None and crash.step == state.step:
                    arm(crash)
                manager.save()
                _events_left.clear()
                if crash == Crash(state.step, "after save"):
                    kill()
            if state.step == stop:
                return
    tensors = [*ema.parameters(), *bare.buffers()] if ema is not None else []
    total = float(sum(float(tensor.sum()) for tensor in tensors))
    os.write(lines, f"end {total.hex()} {torch.rand(()).item().hex()} {random.random().hex()}\n".encode())
    os.close(lines)
    if rendezvous is not None:
        dist.destroy_process_group()


def shard(module: nn.Module) -> nn.Module:
    """Shard a module over all ranks."""
    from torch.distributed.fsdp import fully_shard

    fully_shard(module)
    return module


def kill() -> None:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(crash: Crash) -> None:
    """See to it that the save which comes next does not come to its end."""
    if crash.moment == "writing":
        # The kernel ends a process that writes a file beyond this size.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    elif crash.moment == "event":
        _events_left.append(crash.event)
        sys.addaudithook(_watch)


_events_left: list[int] = []


def _watch(event: str, arguments: Any) -> None:
    writes = event in FILE_EVENTS or (event == "open" and arguments[2] & os.O_CREAT)
    if _events_left and writes:
        _events_left[0] -= 1
        if _events_left[0] < 0:
            kill()


def runs(target: Callable[..., None], *arguments: Any, **options: Any) -> int:
    """Run a function in a process that is forked from one with torch; its exit code."""
    return together([(target, arguments, options)])[0]


def together(calls: list[tuple[Callable[..., None], tuple[Any, ...], dict[str, Any]]]) -> list[int]:
    """Run several at once, as ranks do; their exit codes. When one is killed, the others are too."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.resume.loop"])
    processes = [context.Process(target=target, args=args, kwargs=kwargs) for target, args, kwargs in calls]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            for other in processes:
                other.kill()
    return [process.exitcode or 0 for process in processes]


def steps(log: Path) -> dict[str, set[str]]:
    """What was written down of each step, however often it was done."""
    done: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        step, _, rest = line.partition(" ")
        done.setdefault(step, set()).add(rest)
    return done
