"""What tests of all frameworks share: data that are noisy, and a model that writes down what it sees."""

from __future__ import annotations

import random
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils.data import Dataset

SAMPLES = 24
BATCH = 4

Seen = list[tuple[str, list[int]]]
"""Loss and indices of each batch."""


class Rows(Dataset[Any]):
    """Samples with a row, its index, and noise from each generator."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        noise = 0.1 * torch.rand(4) + 0.1 * float(numpy.random.rand()) + 0.1 * random.random()
        return {"x": torch.full((4,), index / SAMPLES) + noise, "index": torch.tensor(index)}


class Model(nn.Module):
    """Predicts the index, with dropout and noise, and keeps each batch's loss and indices."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 1))
        self.seen: Seen = []

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> dict[str, torch.Tensor]:
        """The loss of one batch."""
        loss = (self.layers(x).squeeze(1) - index / SAMPLES).square().mean() + 0.01 * random.random()
        self.seen.append((loss.item().hex(), index.tolist()))
        return {"loss": loss}


def seed() -> None:
    """Begin with the same generators."""
    torch.manual_seed(11)
    numpy.random.seed(11)
    random.seed(11)
