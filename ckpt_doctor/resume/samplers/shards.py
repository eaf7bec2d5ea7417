"""Draws samples shard by shard, so that each process reads few files at a time and no other's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import torch

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume.rng import mixed_seed
from ckpt_doctor.resume.samplers.base import ResumableSampler


class ResumableShardSampler(ResumableSampler):
    """Whole shards for each rank, one after the other, with the samples of a shard in random order.

    In each epoch the shards are shuffled and dealt to the ranks in turn. Ranks draw equally many
    samples: what the larger hands have beyond the smallest is left out in that epoch. An index
    counts through all shards: those of shard s follow those of the shards before it.

    A position belongs to the ranks that were dealt to: in the middle of an epoch it has no meaning
    for another number of ranks, and loading it there is an error.

    Args:
        shard_sizes: Samples in each shard; at least as many shards as ranks.
        rank: This process; None asks torch.distributed.
        world_size: All processes; None asks torch.distributed.
        shuffle: Shuffle shards and the samples in them; else both come in the order of the data.
        seed: With the epoch it makes the order. Not negative.
    """

    def __init__(
        self,
        shard_sizes: Sequence[int],
        *,
        rank: int | None = None,
        world_size: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        self._sizes = list(shard_sizes)
        self._starts = [0, *accumulate(self._sizes)]
        self._shuffle = shuffle
        self._hands: list[list[int]] = []
        self._dealt_for: tuple[int, int, int] | None = None
        how = f"{len(self._sizes)} shards, {'shuffled' if shuffle else 'in order'}"
        super().__init__(self._starts[-1], how=how, seed=seed, rank=rank, world_size=world_size)

    def hands(self) -> list[list[int]]:
        """The shards that each rank reads in the present epoch, in order.

        Raises:
            UsageError: There are fewer shards than ranks.
        """
        now = (self.seed, self.epoch, self.world_size)
        if self._dealt_for != now:
            self._hands, self._dealt_for = self._deal(), now
        return self._hands

    def __len__(self) -> int:
        """Samples of the present epoch for this rank: as many as the smallest hand holds."""
        return min(sum(self._sizes[shard] for shard in hand) for hand in self.hands())

    @property
    def remaining(self) -> int:
        """Samples of the present epoch that this rank has still to draw."""
        return len(self) - self.samples_done // self.world_size

    def __iter__(self) -> Iterator[int]:
        yield from self._indices(self.samples_done // self.world_size, len(self), self.hands()[self.rank])

    def advance(self, samples: int) -> None:
        """Count samples that reached the training loop of this rank, and as many of every other."""
        whole = len(self) * self.world_size
        self.samples_done = min(whole, self.samples_done + samples * self.world_size)

    def state_dict(self) -> dict[str, Any]:
        """Seed, epoch, position, and the number of ranks that it holds for."""
        return {**super().state_dict(), "sampler_world_size": self.world_size}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a position.

        Raises:
            CheckpointError: It is a position in another order, or within an epoch of other ranks.
        """
        dealt_to = state_dict.get("sampler_world_size")
        if state_dict["samples_done"] and dealt_to not in (None, self.world_size):
            raise CheckpointError(
                f"the shards of this epoch were dealt to {dealt_to} ranks, and here are {self.world_size}",
                hint="resume with as many ranks, or from the end of an epoch",
            )
        super().load_state_dict(state_dict)

    def _deal(self) -> list[list[int]]:
        count = len(self._sizes)
        if count < self.world_size:
            raise UsageError(
                f"{count} shards cannot be dealt to {self.world_size} ranks",
                hint="cut the data into more shards, or use ResumableDistributedSampler",
            )
        shards = list(range(count))
        if self._shuffle:
            shards = torch.randperm(count, generator=self.epoch_generator()).tolist()
        return [shards[rank :: self.world_size] for rank in range(self.world_size)]

    def _indices(self, start: int, stop: int, shards: Sequence[int]) -> Iterator[int]:
        """Samples ``start`` to ``stop`` of a hand; shards before ``start`` are not looked into."""
        ends = list(accumulate(self._sizes[shard] for shard in shards))
        at = start
        for place in range(bisect_right(ends, start), len(ends)):
            shard = shards[place]
            began = ends[place] - self._sizes[shard]
            order = self._within(shard)[at - began : stop - began]
            yield from (order + self._starts[shard]).tolist()
            at += len(order)
            if at >= stop:
                return

    def _within(self, shard: int) -> torch.Tensor:
        size = self._sizes[shard]
        if not self._shuffle:
            return torch.arange(size)
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, self.epoch, shard))
        return torch.randperm(size, generator=generator)
