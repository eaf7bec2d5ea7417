"""Positions in an order that ranks share: any place, any number of ranks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume import (
    ResumableDistributedSampler,
    ResumableRandomSampler,
    ResumableSampler,
    ResumableWeightedSampler,
)
from ckpt_doctor.resume.samplers import base

Make = Callable[[int], ResumableSampler]

KINDS: dict[str, Make] = {
    "random": lambda samples: ResumableRandomSampler(range(samples), seed=3),
    "replacement": lambda samples: ResumableRandomSampler(range(samples), seed=3, replacement=True),
    "weighted": lambda samples: ResumableWeightedSampler(torch.arange(1.0, samples + 1), seed=3),
    "in order": lambda samples: ResumableDistributedSampler(range(samples), shuffle=False),
}


@pytest.mark.parametrize("kind", KINDS)
@given(samples=st.integers(1, 50), epoch=st.integers(0, 3), data=st.data())
def test_from_any_position_on(kind: str, samples: int, epoch: int, data: st.DataObject) -> None:
    """What is drawn before a position and after it is what is drawn without a stop."""
    position = data.draw(st.integers(0, samples))
    sampler = KINDS[kind](samples)
    sampler.set_epoch(epoch)
    whole = list(sampler)
    assert len(whole) == len(sampler)
    sampler.advance(position)
    resumed = KINDS[kind](samples)
    resumed.load_state_dict(sampler.state_dict())
    assert list(resumed) == whole[position:]
    assert resumed.remaining == len(whole) - position


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@given(samples=st.integers(1, 60), ranks=st.integers(1, 7), epoch=st.integers(0, 3), seed=st.integers(0, 9))
def test_the_order_of_torch(
    drop_last: bool, shuffle: bool, samples: int, ranks: int, epoch: int, seed: int
) -> None:
    """Each rank draws what torch's DistributedSampler draws with the same seed and epoch."""
    if drop_last and samples < ranks:
        return  # torch counts wrongly there
    data = range(samples)
    for rank in range(ranks):
        theirs: Any = DistributedSampler(data, ranks, rank, shuffle, seed, drop_last)  # type: ignore[arg-type]
        ours = ResumableDistributedSampler(
            data, rank=rank, world_size=ranks, shuffle=shuffle, seed=seed, drop_last=drop_last
        )
        theirs.set_epoch(epoch)
        ours.set_epoch(epoch)
        assert list(ours) == list(theirs)
        assert len(ours) == len(theirs)


@given(
    samples=st.integers(1, 60), before=st.integers(1, 5), after=st.integers(1, 5), steps=st.integers(0, 12)
)
def test_another_number_of_ranks(samples: int, before: int, after: int, steps: int) -> None:
    """Every sample of the epoch is drawn once, by the ranks before or after the change, but for padding."""
    old = [ResumableDistributedSampler(range(samples), rank=r, world_size=before) for r in range(before)]
    steps = min(steps, samples // before)
    drawn = [index for sampler in old for index in list(sampler)[:steps]]
    old[0].advance(steps)
    state = old[0].state_dict()
    new = [ResumableDistributedSampler(range(samples), rank=r, world_size=after) for r in range(after)]
    for sampler in new:
        sampler.load_state_dict(state)
    rest = [index for group in zip(*new, strict=True) for index in group][: samples - len(drawn)]
    assert sorted(drawn + rest) == list(range(samples))


def test_global_batches_stay(tmp_path: object) -> None:
    """With the same global batch, the batches of all ranks together are the same for 1, 2 and 4 ranks."""

    def global_batches(ranks: int, done: int) -> list[set[int]]:
        parts = []
        for rank in range(ranks):
            sampler = ResumableDistributedSampler(range(64), rank=rank, world_size=ranks, seed=1)
            sampler.load_state_dict({**sampler.state_dict(), "samples_done": done})
            parts.append(list(torch.utils.data.BatchSampler(sampler, 8 // ranks, drop_last=False)))
        return [{index for batch in batches for index in batch} for batches in zip(*parts, strict=True)]

    assert global_batches(1, 16) == global_batches(2, 16) == global_batches(4, 16)


def test_an_epoch_of_its_own() -> None:
    """Each epoch has its own order; setting the epoch that is under way changes nothing."""
    sampler = ResumableRandomSampler(range(20))
    first = list(sampler)
    sampler.advance(5)
    sampler.set_epoch(0)
    assert list(sampler) == first[5:]
    sampler.set_epoch(1)
    assert sorted(sampler) == sorted(first)
    assert list(sampler) != first


def lines_run(position: int) -> int:
    """How many lines of samplers and loader are run from loading a position to the first batch."""
    data = TensorDataset(torch.zeros(400_000, 1))
    sampler = ResumableRandomSampler(data)
    state = {**sampler.state_dict(), "samples_done": position}
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        # What the collector or a test runner happens to run in between is not counted.
        if "ckpt_doctor/resume" in frame.f_code.co_filename or "torch/utils/data" in frame.f_code.co_filename:
            count += event == "line"
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sampler.load_state_dict(state)
        next(iter(loader))
    finally:
        sys.settrace(before)
    return count


def test_the_seek_costs_the_same_everywhere() -> None:
    """Going to step 10 and to step 10 000 of an epoch takes the same work, line by line."""
    lines_run(0)
    assert lines_run(32 * 10) == lines_run(32 * 10_000)


def test_made_before_there_are_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sampler that is made before torch.distributed has begun asks it later, as Lightning needs it."""
    sampler = ResumableDistributedSampler(range(10), shuffle=False)
    assert list(sampler) == list(range(10))
    monkeypatch.setattr(base, "own_rank", lambda: 1)
    monkeypatch.setattr(base, "all_ranks", lambda: 2)
    assert list(sampler) == [1, 3, 5, 7, 9]
    assert len(sampler) == 5


def test_other_data_are_refused() -> None:
    """A position means nothing in other data, or to another kind of sampler."""
    state = ResumableRandomSampler(range(10)).state_dict()
    with pytest.raises(CheckpointError, match="over 10 samples"):
        ResumableRandomSampler(range(11)).load_state_dict(state)
    with pytest.raises(CheckpointError, match="ResumableWeightedSampler"):
        ResumableWeightedSampler([1.0] * 10).load_state_dict(state)
    with pytest.raises(CheckpointError, match=r"\(with replacement\)"):
        ResumableRandomSampler(range(10), replacement=True).load_state_dict(state)
    weighted = ResumableWeightedSampler([1.0] * 10).state_dict()
    with pytest.raises(CheckpointError, match="weights"):
        ResumableWeightedSampler([1.0] * 9 + [2.0]).load_state_dict(weighted)


@pytest.mark.parametrize(("samples", "seed", "rank", "ranks"), [(0, 0, 0, 1), (4, -1, 0, 1), (4, 0, 2, 2)])
def test_impossible_numbers(samples: int, seed: int, rank: int, ranks: int) -> None:
    """No samples, a negative seed and a rank that is not there are refused at once."""
    with pytest.raises(UsageError, match=r"rank \d of"):
        ResumableDistributedSampler(range(samples), seed=seed, rank=rank, world_size=ranks)
