"""What all resumable samplers share: an order that seed and epoch make, and a position that is a number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Sampler

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume.ranks import own_rank
from ckpt_doctor.resume.ranks import world_size as all_ranks


class ResumableSampler(Sampler[int]):
    """Draws the samples of an epoch from any position on, and no others.

    ``samples_done`` counts, for all ranks together, what reached the training loop, not what
    workers fetched ahead: whoever iterates has to call ``advance``. ``ResumeManager.batches`` does.

    Args:
        samples: Samples that all ranks draw in one epoch.
        how: What decides on the order beside seed and epoch, in a few words.
        seed: With the epoch it makes the order. Not negative.
        rank: This process; None asks torch.distributed whenever it matters, since frameworks start
            that after the loader is made.
        world_size: All processes that share the data; None as for ``rank``.

    Raises:
        UsageError: A number is out of range.
    """

    def __init__(
        self, samples: int, *, how: str, seed: int, rank: int | None, world_size: int | None
    ) -> None:
        self.samples = samples
        self.kind = f"{type(self).__name__} ({how})"
        self.seed = seed
        self._rank = rank
        self._world_size = world_size
        self.epoch = 0
        self.samples_done = 0
        if samples < 1 or seed < 0 or not 0 <= self.rank < self.world_size:
            raise UsageError(
                f"{type(self).__name__}: {samples} samples, seed {seed}, "
                f"rank {self.rank} of {self.world_size}",
                hint="give at least one sample, a seed from 0 on, and a rank below world_size",
            )

    @property
    def rank(self) -> int:
        """The number of this process among those that share the data."""
        return own_rank() if self._rank is None else self._rank

    @property
    def world_size(self) -> int:
        """How many processes share the data."""
        return all_ranks() if self._world_size is None else self._world_size

    @abstractmethod
    def __iter__(self) -> Iterator[int]:
        """The samples of the present epoch that this rank has still to draw."""

    @abstractmethod
    def __len__(self) -> int:
        """Samples of the whole present epoch for this rank."""

    @property
    @abstractmethod
    def remaining(self) -> int:
        """Samples of the present epoch that this rank has still to draw."""

    def advance(self, samples: int) -> None:
        """Count samples that reached the training loop of this rank, and as many of every other."""
        self.samples_done = min(self.samples, self.samples_done + samples * self.world_size)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; the one that is under way goes on where it is."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.samples_done = 0

    def state_dict(self) -> dict[str, Any]:
        """Seed, epoch and position, the same on every rank."""
        return {
            "sampler_kind": self.kind,
            "sampler_samples": self.samples,
            "sampler_seed": self.seed,
            "sampler_epoch": self.epoch,
            "samples_done": self.samples_done,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a position; the seed becomes the saved one.

        Raises:
            CheckpointError: It is a position in another order: of another kind, or of other data.
        """
        kind, samples = state_dict["sampler_kind"], state_dict["sampler_samples"]
        if kind != self.kind or samples != self.samples:
            raise CheckpointError(
                f"the position is one of a {kind} over {samples:,} samples, this is a "
                f"{self.kind} over {self.samples:,}",
                hint="resume with the same data and sampler, or leave the loader out of the state",
            )
        self.seed = state_dict["sampler_seed"]
        self.epoch = state_dict["sampler_epoch"]
        self.samples_done = state_dict["samples_done"]

    def epoch_generator(self) -> torch.Generator:
        """A generator for the present epoch, seeded as torch's DistributedSampler seeds its own."""
        return torch.Generator(device="cpu").manual_seed(self.seed + self.epoch)
