"""Draws samples with given weights, in one process or several."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Sequence

import torch

from ckpt_doctor.resume.samplers.shared_order import SharedOrderSampler


class ResumableWeightedSampler(SharedOrderSampler):
    """Samples drawn as often as their weights say, anew in each epoch.

    Args:
        weights: One for each sample; they need not add up to one.
        num_samples: Samples of an epoch for all ranks together; None is as many as there are weights.
        replacement: Draw each sample from all of them.
        rank: This process; None asks torch.distributed.
        world_size: All processes; None asks torch.distributed.
        seed: With the epoch it makes the draws. Not negative.
    """

    def __init__(
        self,
        weights: Sequence[float] | torch.Tensor,
        num_samples: int | None = None,
        *,
        replacement: bool = True,
        rank: int | None = None,
        world_size: int | None = None,
        seed: int = 0,
    ) -> None:
        self._weights = torch.as_tensor(weights, dtype=torch.float64, device="cpu").contiguous()
        self._replacement = replacement
        drawn = len(self._weights) if num_samples is None else num_samples
        how = "with replacement" if replacement else "without replacement"
        digest = zlib.crc32(ctypes.string_at(self._weights.data_ptr(), self._weights.nbytes))
        super().__init__(
            drawn, how=f"weights {digest:08x}, {how}", seed=seed, rank=rank, world_size=world_size
        )

    def order(self) -> torch.Tensor:
        """Indices of samples, each drawn with its weight."""
        return torch.multinomial(
            self._weights, self.samples, self._replacement, generator=self.epoch_generator()
        )
