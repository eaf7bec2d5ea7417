"""Draws by weight."""

from __future__ import annotations

from collections import Counter

import torch

from ckpt_doctor.resume import ResumableWeightedSampler


def test_weights_decide_how_often() -> None:
    """A sample with no weight never comes, one with three quarters of it comes three times in four."""
    drawn = Counter(ResumableWeightedSampler([0.0, 1.0, 3.0], 4000))
    assert drawn[0] == 0
    assert 2800 < drawn[2] < 3200


def test_ranks_share_the_draws() -> None:
    """Two ranks draw together what one would draw alone."""
    weights = torch.rand(30, generator=torch.Generator().manual_seed(0))
    alone = list(ResumableWeightedSampler(weights, 20))
    ranks = [list(ResumableWeightedSampler(weights, 20, rank=rank, world_size=2)) for rank in range(2)]
    assert [index for pair in zip(*ranks, strict=True) for index in pair] == alone


def test_without_replacement() -> None:
    """Without replacement no sample comes twice in an epoch."""
    assert len(set(ResumableWeightedSampler([1.0] * 10, 10, replacement=False))) == 10
