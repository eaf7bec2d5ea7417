"""Random numbers of a data set that depend on the sample and the epoch alone."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import Dataset, get_worker_info

from ckpt_doctor.resume.rng import mixed_seed, seeded


class SeededDataset(Dataset[Any]):
    """A map-style data set whose augmentations are the same after a resume, with any number of workers.

    The generators of a worker go on from sample to sample, so that what they give depends on all
    that this worker did before: in the middle of an epoch nothing short of a replay brings them
    back. Here torch's CPU generator, numpy's and Python's are seeded before each sample from seed,
    epoch and index; in the training process they get their own state back after it. A sample that
    is drawn twice in one epoch is augmented alike both times.

    Not covered: generators that the data set made itself, CUDA's, and a ``collate_fn`` that draws.

    Args:
        dataset: Has ``__getitem__`` and ``__len__``. A data set that fetches a whole batch at once
            (``__getitems__``) is asked for one sample at a time.
        seed: Not negative.
    """

    def __init__(self, dataset: Any, *, seed: int = 0) -> None:
        self.dataset = dataset
        self.seed = seed
        # Workers that live longer than an epoch hear of the next one through shared memory.
        self._epoch: torch.Tensor = torch.zeros((), dtype=torch.int64)
        self._epoch.share_memory_()  # type: ignore[no-untyped-call]

    def set_epoch(self, epoch: int) -> None:
        """The epoch whose samples are asked for next; ``ResumeManager.batches`` calls it."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        seed = mixed_seed(self.seed, int(self._epoch), int(index))
        with seeded(seed, put_back=get_worker_info() is None):
            return self.dataset[index]
