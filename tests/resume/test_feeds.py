"""The place in the data, for each kind of loader."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader

from ckpt_doctor.errors import UsageError
from ckpt_doctor.resume import (
    ResumableDistributedSampler,
    ResumableRandomSampler,
    ResumableSampler,
    ResumableShardSampler,
    ResumableState,
    ResumableWeightedSampler,
    ResumeManager,
    SeededDataset,
)
from ckpt_doctor.resume.feeds import feed_of
from ckpt_doctor.resume.plain import plain_copy

DATA = TensorDataset(torch.arange(22.0))


def sampler_of(kind: str) -> ResumableSampler:
    """One of each kind over the data."""
    if kind == "shards":
        return ResumableShardSampler([5, 9, 8], rank=0, world_size=1)
    if kind == "weighted":
        return ResumableWeightedSampler(torch.rand(22, generator=torch.Generator().manual_seed(1)))
    if kind == "distributed":
        return ResumableDistributedSampler(DATA, rank=1, world_size=2)
    return ResumableRandomSampler(DATA)


def given(manager: ResumeManager, limit: int | None = None) -> list[list[float]]:
    """The batches of one epoch, or the first of them."""
    batches = []
    for (batch,) in manager.batches():
        batches.append(batch.tolist())
        if len(batches) == limit:
            break
    return batches


@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"num_workers": 2, "prefetch_factor": 4}])
@pytest.mark.parametrize("kind", ["random", "distributed", "weighted", "shards"])
def test_from_any_batch_on(kind: str, options: dict[str, Any]) -> None:
    """After any number of batches, the rest of the epoch and the next one are what they would have been."""

    def manager() -> ResumeManager:
        loader: DataLoader[Any] = DataLoader(DATA, batch_size=4, sampler=sampler_of(kind), **options)
        return ResumeManager(ResumableState(loader=loader))

    first = manager()
    whole = [given(first), given(first)]
    assert first.state.epoch == 2
    for done in range(1, len(whole[0]) + 1):
        stopped = manager()
        assert given(stopped, done) == whole[0][:done]
        resumed = manager()
        resumed.restore(stopped.capture())
        assert given(resumed) == whole[0][done:]
        assert given(resumed) == whole[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loader(workers: int) -> None:
    """A StatefulDataLoader of torchdata keeps its own place, which is saved and put back."""

    def manager() -> ResumeManager:
        loader: Any = StatefulDataLoader(DATA, batch_size=4, num_workers=workers)
        return ResumeManager(ResumableState(loader=loader))

    whole = given(manager())
    stopped = manager()
    batches = stopped.batches()
    for _ in range(2):
        next(batches)
    captured = plain_copy(stopped.capture(), "captured")
    resumed = manager()
    report = resumed.restore(captured)
    assert report.complete
    assert given(resumed) == whole[2:]
    assert given(resumed) == whole


def test_a_batch_of_one() -> None:
    """Without batching each sample counts as one."""
    loader: DataLoader[Any] = DataLoader(DATA, batch_size=None, sampler=ResumableRandomSampler(DATA))
    manager = ResumeManager(ResumableState(loader=loader))
    given(manager, 3)
    assert manager.capture()["rank_0"]["samples_done"] == 3


def test_a_batch_sampler_around_it() -> None:
    """A sampler within a batch sampler is found, with its batch size."""
    batches = BatchSampler(ResumableRandomSampler(DATA), 4, drop_last=False)
    manager = ResumeManager(ResumableState(loader=DataLoader(DATA, batch_sampler=batches)))
    given(manager, 2)
    assert manager.capture()["rank_0"]["samples_done"] == 8


class Lengths(BatchSampler):
    """Batches of unequal size, as bucketing makes them."""

    def __init__(self) -> None:
        self.sampler = ResumableRandomSampler(DATA)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: DataLoader(DATA, shuffle=True), "draws from a RandomSampler"),
        (lambda: DataLoader(DATA, batch_sampler=Lengths()), "Lengths has no batch_size"),
        (lambda: DataLoader(DATA, sampler=ResumableRandomSampler(DATA), in_order=False), "in_order=False"),
        (lambda: [1, 2, 3], "draws from a list"),
    ],
)
def test_places_that_cannot_be_kept(make: Any, says: str) -> None:
    """A loader whose place cannot be told is refused at once, with what to do."""
    with pytest.raises(UsageError, match=says) as caught:
        feed_of(make())
    assert caught.value.hint


def test_what_workers_draw() -> None:
    """Where augmentations in workers cannot come back, the report says so."""

    def notes(data: Any, workers: int) -> tuple[str, ...]:
        loader: DataLoader[Any] = DataLoader(
            data, batch_size=4, sampler=ResumableRandomSampler(data), num_workers=workers
        )
        manager = ResumeManager(ResumableState(loader=loader))
        given(manager, 1)
        (rank,) = manager.restore(manager.capture()).ranks
        position = rank.of("dataloader_position")
        assert position is not None
        return position.notes

    assert "SeededDataset" in notes(DATA, 1)[0]
    assert notes(DATA, 0) == notes(SeededDataset(DATA), 1) == ()
