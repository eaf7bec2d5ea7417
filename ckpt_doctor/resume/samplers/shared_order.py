"""Samplers whose ranks share one order of all samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import torch

from ckpt_doctor.resume.samplers.base import ResumableSampler

_CHUNK = 4096
"""Indices that are turned into Python numbers at once: all of them would take 8 times the memory."""


class SharedOrderSampler(ResumableSampler):
    """Rank r of w takes every w-th sample of the order from the r-th on, as torch's DistributedSampler does.

    What all ranks together have drawn is thus the beginning of the order, whatever the number of
    ranks: its length says all, and other ranks may go on from there, with every remaining sample
    drawn once.

    Args:
        samples: Samples that all ranks draw in one epoch.
        how: What decides on the order beside seed and epoch, in a few words.
        seed: With the epoch it makes the order. Not negative.
        rank: This process; None asks torch.distributed.
        world_size: All processes; None asks torch.distributed.
        drop_last: Leave out the samples that do not go around; else the first ones are drawn again.
    """

    def __init__(
        self,
        samples: int,
        *,
        how: str,
        seed: int,
        rank: int | None,
        world_size: int | None,
        drop_last: bool = False,
    ) -> None:
        super().__init__(samples, how=how, seed=seed, rank=rank, world_size=world_size)
        self.drop_last = drop_last

    @abstractmethod
    def order(self) -> torch.Tensor:
        """The samples of the present epoch for all ranks together: int64, shape (samples,)."""

    def __len__(self) -> int:
        """Samples of a whole epoch for this rank."""
        return self._share(self.samples)

    @property
    def remaining(self) -> int:
        """Samples of the present epoch that this rank has still to draw."""
        return self._share(self.samples - self.samples_done)

    def __iter__(self) -> Iterator[int]:
        count = self.remaining
        order = self.order()
        left = order[self.samples_done :]
        short = count * self.world_size - len(left)
        if short > 0:
            left = torch.cat([left, order.repeat(-(-short // len(order)))[:short]])
        mine = left[self.rank :: self.world_size][:count]
        for start in range(0, count, _CHUNK):
            yield from mine[start : start + _CHUNK].tolist()

    def _share(self, samples: int) -> int:
        return samples // self.world_size if self.drop_last else -(-samples // self.world_size)
