"""Draws samples in random order, in one process."""

from __future__ import annotations

from collections.abc import Sized

import torch

from ckpt_doctor.resume.samplers.shared_order import SharedOrderSampler


class ResumableRandomSampler(SharedOrderSampler):
    """A random order that is another one in each epoch; for ``DataLoader(sampler=...)``.

    Args:
        data: The data set.
        seed: With the epoch it makes the order. Not negative.
        replacement: Draw each sample from all of them, so that some come twice and some not at all.
        num_samples: Samples of an epoch, where they are drawn with replacement; None is as many as there are.
    """

    def __init__(
        self, data: Sized, *, seed: int = 0, replacement: bool = False, num_samples: int | None = None
    ) -> None:
        self._size = len(data)
        self._replacement = replacement
        drawn = num_samples if replacement and num_samples is not None else self._size
        how = "with replacement" if replacement else "without replacement"
        super().__init__(drawn, how=how, seed=seed, rank=0, world_size=1)

    def order(self) -> torch.Tensor:
        """A permutation, or independent draws."""
        if self._replacement:
            return torch.randint(self._size, (self.samples,), generator=self.epoch_generator(), device="cpu")
        return torch.randperm(self._size, generator=self.epoch_generator(), device="cpu")
