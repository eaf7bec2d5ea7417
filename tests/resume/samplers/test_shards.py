"""Whole shards for each rank."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume import ResumableShardSampler

SIZES = st.lists(st.integers(0, 9), min_size=4, max_size=12).filter(lambda sizes: sum(sizes) > 0)


def shard_of(index: int, sizes: list[int]) -> int:
    """The shard that an index lies in."""
    for shard, size in enumerate(sizes):
        if index < size:
            return shard
        index -= size
    raise AssertionError("an index beyond the data")


@given(sizes=SIZES, ranks=st.integers(1, 4), epoch=st.integers(0, 3), shuffle=st.booleans())
def test_shard_by_shard(sizes: list[int], ranks: int, epoch: int, shuffle: bool) -> None:
    """Ranks draw equally many samples, none twice, each from its own shards and one shard after the other."""
    seen: set[int] = set()
    lengths = set()
    for rank in range(ranks):
        sampler = ResumableShardSampler(sizes, rank=rank, world_size=ranks, shuffle=shuffle)
        sampler.set_epoch(epoch)
        drawn = list(sampler)
        lengths.add(len(drawn))
        assert len(drawn) == len(sampler)
        assert len(set(drawn)) == len(drawn)
        assert not seen & set(drawn)
        seen |= set(drawn)
        shards = [shard_of(index, sizes) for index in drawn]
        runs = [shard for place, shard in enumerate(shards) if place == 0 or shards[place - 1] != shard]
        assert len(runs) == len(set(runs))
        assert set(runs) <= set(sampler.hands()[rank])
    assert len(lengths) == 1


@given(sizes=SIZES, ranks=st.integers(1, 4), epoch=st.integers(0, 2), data=st.data())
def test_from_any_position_on(sizes: list[int], ranks: int, epoch: int, data: st.DataObject) -> None:
    """What is drawn before a position and after it is what is drawn without a stop."""
    rank = data.draw(st.integers(0, ranks - 1))
    sampler = ResumableShardSampler(sizes, rank=rank, world_size=ranks, seed=2)
    sampler.set_epoch(epoch)
    whole = list(sampler)
    position = data.draw(st.integers(0, len(whole)))
    sampler.advance(position)
    resumed = ResumableShardSampler(sizes, rank=rank, world_size=ranks, seed=2)
    resumed.load_state_dict(sampler.state_dict())
    assert list(resumed) == whole[position:]
    assert resumed.remaining == len(whole) - position


def test_shuffled_anew_in_each_epoch() -> None:
    """Shards come in another order in each epoch, and so do the samples in them."""
    sampler = ResumableShardSampler([50, 50, 50])
    first = list(sampler)
    sampler.set_epoch(1)
    second = list(sampler)
    assert sorted(first) == sorted(second) == list(range(150))
    assert [i for i in first if i < 50] != [i for i in second if i < 50]


def test_another_number_of_ranks() -> None:
    """A position within an epoch is refused by other ranks; the beginning of an epoch is not."""
    sampler = ResumableShardSampler([4] * 6, rank=0, world_size=2)
    other = ResumableShardSampler([4] * 6, rank=0, world_size=3)
    other.load_state_dict(sampler.state_dict())
    sampler.advance(1)
    with pytest.raises(CheckpointError, match="dealt to 2 ranks, and here are 3"):
        other.load_state_dict(sampler.state_dict())


def test_too_few_shards() -> None:
    """Every rank needs a shard."""
    with pytest.raises(UsageError, match="2 shards cannot be dealt to 3 ranks"):
        len(ResumableShardSampler([5, 5], rank=0, world_size=3))
