"""Draws samples in an order that several processes share."""

from __future__ import annotations

from collections.abc import Sized

import torch

from ckpt_doctor.resume.samplers.shared_order import SharedOrderSampler


class ResumableDistributedSampler(SharedOrderSampler):
    """Each rank's part of one order: that of torch's DistributedSampler with the same seed and epoch.

    Resumed with another number of ranks it goes on after the last sample that was trained on; the
    batches of all ranks together stay the same if the global batch size does.

    Args:
        data: The data set.
        rank: This process; None asks torch.distributed.
        world_size: All processes; None asks torch.distributed.
        shuffle: A random order, another one in each epoch; else that of the data.
        seed: With the epoch it makes the order. Not negative.
        drop_last: Leave out the samples that do not go around; else the first ones are drawn again.
    """

    def __init__(
        self,
        data: Sized,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self._shuffle = shuffle
        super().__init__(
            len(data),
            how="shuffled" if shuffle else "in order",
            seed=seed,
            rank=rank,
            world_size=world_size,
            drop_last=drop_last,
        )

    def order(self) -> torch.Tensor:
        """A permutation, or the data's own order."""
        if self._shuffle:
            return torch.randperm(self.samples, generator=self.epoch_generator(), device="cpu")
        return torch.arange(self.samples, device="cpu")
