"""Augmentations that depend on seed, epoch and index alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from ckpt_doctor.resume import SeededDataset
from tests.resume.loop import Noisy


def epochs(loader: DataLoader[Any], data: SeededDataset, count: int = 2) -> list[list[float]]:
    """What a loader gives in some epochs, sample by sample."""
    given = []
    for epoch in range(count):
        data.set_epoch(epoch)
        given.append(torch.cat([x.flatten() for x, _ in loader]).tolist())
    return given


@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}, {"multiprocessing_context": "spawn"}])
def test_workers_make_no_difference(options: dict[str, Any]) -> None:
    """With workers, persistent or spawned, samples are those of the training process, in each epoch."""
    data = SeededDataset(Noisy(), seed=1)
    alone = epochs(DataLoader(data, batch_size=7), data)
    assert alone[0] != alone[1]
    assert epochs(DataLoader(data, batch_size=7, num_workers=2, **options), data) == alone


def test_the_training_process_keeps_its_numbers() -> None:
    """Asking for a sample leaves the global generators as they were."""
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    SeededDataset(Noisy())[5]
    assert torch.equal(torch.rand(2), expected)


def test_seed_and_index_matter() -> None:
    """Another seed, and another sample, is augmented in another way; the same one always alike."""
    noise = [
        SeededDataset(Noisy(), seed=seed)[index][0] - index / len(Noisy())
        for seed, index in ((0, 1), (0, 2), (1, 1))
    ]
    assert not torch.equal(noise[0], noise[1])
    assert not torch.equal(noise[0], noise[2])
    assert torch.equal(SeededDataset(Noisy())[1][0], SeededDataset(Noisy())[1][0])
    assert len(SeededDataset(Noisy())) == len(Noisy())
