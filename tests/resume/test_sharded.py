"""States of several ranks, read by as many, by others, and by one alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.resume import ResumableState, ResumeManager
from ckpt_doctor.resume.plain import is_sharded
from ckpt_doctor.resume.sharded import read_sharded, write_sharded
from tests.resume.loop import shard, together


def save(folder: Path, rank: int, ranks: int, *, is_split: bool) -> None:
    """Train for three steps and save; rank 0 keeps the weights in a file of their own too."""
    manager = manager_of(folder, rank, ranks, is_split=is_split)
    state = manager.state
    assert state.model is not None
    assert state.optimizer is not None
    for _ in range(3):
        state.model(torch.ones(2, 6)).square().sum().backward()
        state.optimizer.step()
        state.optimizer.zero_grad()
        state.step += 1
    manager.save()
    keep(manager, folder / "truth.pt")
    dist.destroy_process_group()


def load(folder: Path, rank: int, ranks: int, *, is_split: bool) -> None:
    """Load, and compare with what was kept; the exit code says whether all is well."""
    manager = manager_of(folder, rank, ranks, is_split=is_split)
    report = manager.load()
    assert report is not None
    assert len(report.ranks) == ranks
    assert isinstance(manager.state.model, nn.Module)
    assert any(is_sharded(p) for p in manager.state.model.parameters()) == is_split
    keep(manager, folder / "found.pt")
    if rank == 0:
        truth, found = (torch.load(folder / name, weights_only=True) for name in ("truth.pt", "found.pt"))
        assert truth.keys() == found.keys()
        assert all(torch.equal(value, found[key]) for key, value in truth.items())
    if ranks > 1:
        dist.destroy_process_group()


def manager_of(folder: Path, rank: int, ranks: int, *, is_split: bool) -> ResumeManager:
    """A manager of a model that is sharded over all ranks, or the same on each."""
    torch.set_num_threads(1)
    if ranks > 1:
        count = len(list(folder.glob("run/step-*")))
        init = f"file://{folder}/rendezvous{ranks}{is_split}{count}"
        dist.init_process_group("gloo", init_method=init, rank=rank, world_size=ranks)
    torch.manual_seed(0)
    model: nn.Module = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 3))
    if is_split:
        model = shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 30])
    state = ResumableState(
        model=model, optimizer=optimizer, scheduler=scheduler, parts={"rng": torch.Generator()}
    )
    return ResumeManager(state, folder / "run")


def keep(manager: ResumeManager, path: Path) -> None:
    """Write all weights and moments, whole, to a file."""
    assert manager.state.model is not None
    assert manager.state.optimizer is not None
    values = dict(manager.state.model.state_dict())
    for number, entry in manager.state.optimizer.state_dict()["state"].items():
        values |= {f"{number}.{key}": value for key, value in entry.items()}
    whole = {key: value.full_tensor() if is_sharded(value) else value for key, value in values.items()}
    if not dist.is_initialized() or dist.get_rank() == 0:
        torch.save(whole, path)


def run(function: object, folder: Path, ranks: int, *, is_split: bool) -> None:
    """Run a function on every rank."""
    calls = [(function, (folder, rank, ranks), {"is_split": is_split}) for rank in range(ranks)]
    assert together(calls) == [0] * ranks  # type: ignore[arg-type]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_shards_are_dealt_anew(tmp_path: Path, after: int) -> None:
    """What two ranks have saved in shards, one, two and three can go on from."""
    run(save, tmp_path, 2, is_split=True)
    run(load, tmp_path, after, is_split=after > 1)


def test_replicas(tmp_path: Path) -> None:
    """What is the same on all ranks is kept once, and what belongs to one rank for each."""
    run(save, tmp_path, 2, is_split=False)
    run(load, tmp_path, 2, is_split=False)
    run(load, tmp_path, 1, is_split=False)
    facts = read_checkpoint(str(tmp_path / "run"))
    assert facts.layout == "resume_manager"
    assert facts.format == "dcp"
    missing = {k for k, p in facts.states.items() if p.status is not PresenceStatus.PRESENT}
    assert missing == {
        StateKind.SCALER,
        StateKind.EMA,
        StateKind.SAMPLER_EPOCH,
        StateKind.SAMPLER_RNG,
        StateKind.DATALOADER_POSITION,
        StateKind.COMPILE_CACHE,
        StateKind.LOADER_ARGUMENTS,
    }
    assert [key for key in (entry.key for entry in facts.tensors) if "rank_1.torch_rng" in key]


def save_unlike(folder: Path, rank: int, ranks: int) -> None:
    """Write values that differ from rank to rank."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks)
    buffers = {f"buffer{number}": torch.full((3,), float(rank)) for number in range(20)}
    write_sharded({"model": buffers, "step": rank}, folder / "saved")
    dist.destroy_process_group()


def test_rank_0_decides(tmp_path: Path) -> None:
    """Of what is not sharded the values of rank 0 are kept, as DistributedDataParallel does with buffers."""
    assert together([(save_unlike, (tmp_path, rank, 2), {}) for rank in range(2)]) == [0, 0]
    found = read_sharded(tmp_path / "saved", {})
    assert found["step"] == 0
    assert {float(value.sum()) for value in found["model"].values()} == {0.0}


def test_values_keep_their_kind(tmp_path: Path) -> None:
    """Keys that are numbers, tuples and counters come back as they were, out of a folder of DCP too."""
    groups = [{"params": [0], "betas": (0.9, 0.99)}]
    tree: dict[str, Any] = {
        "optimizer": {
            "state": {0: {"step": torch.ones(())}},
            "param_groups": [{"params": [0], "betas": (0.9, 0.99)}],
        },
        "parts": {"table": {1: torch.zeros(2), 2: None}, "steps": {30: 1}},
        "step": 3,
        "rank_0": {"torch_rng": torch.get_rng_state(), "python_rng": (3, (1, 2), None)},
    }
    write_sharded(tree, tmp_path)
    found = read_sharded(tmp_path, {})
    assert found["optimizer"]["state"]["0"]["step"].item() == 1
    assert found["optimizer"]["param_groups"] == groups
    assert found["parts"]["table"][1].tolist() == [0.0, 0.0]
    assert found["parts"]["steps"] == {30: 1}
    assert found["step"] == 3
    assert found["rank_0"]["python_rng"] == (3, (1, 2), None)
    assert torch.equal(found["rank_0"]["torch_rng"], tree["rank_0"]["torch_rng"])
