"""Whether a checkpoint tells in which order the data come."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Case, Finding
from ckpt_doctor.facts.states import PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint

CODE = "STA111"
COUNT = {"batches_done": 7}
ORDERED = {"_num_yielded": 7, "_sampler_iter_state": {"samples_yielded": 14}}
"""A stateful loader's state whose sampler has kept its own."""


def saved(folder: Path, **states: Any) -> str:
    """A plain training checkpoint that also holds these states."""
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    path = folder / "last.pt"
    plain = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2, "step": 9}
    torch.save({**plain, **states}, path)
    return str(path)


def found_in(path: str) -> Finding | None:
    """What the rule finds in a file."""
    findings, _ = judge(Case(checkpoints=(read_checkpoint(path),)))
    return next((finding for finding in findings if finding.code == CODE), None)


@pytest.mark.parametrize("states", [{}, COUNT, {"batch_idx": torch.tensor(7)}, {"loader": COUNT}])
def test_a_count_is_no_order(tmp_path: Path, states: dict[str, Any]) -> None:
    """A number of batches says how far the epoch was; the order is missing with it as without it."""
    assert found_in(saved(tmp_path, **states)) is not None


def test_the_count_is_shown(tmp_path: Path) -> None:
    """The finding names the count that does without an order, and the facts tell it from a loader's state."""
    path = saved(tmp_path, **COUNT)
    known = read_checkpoint(path).states[StateKind.DATALOADER_POSITION]
    assert (known.status, known.detail) == (PresenceStatus.PRESENT, PresenceDetail.COUNT)
    finding = found_in(path)
    assert finding is not None
    assert finding.evidence[-1].what == "batches_done"


@pytest.mark.parametrize(
    "states",
    [
        {"sampler_epoch": 2},
        {"sampler_seed": 5},
        {"sampler": {"generator": torch.Generator().get_state(), **COUNT}},
        {"torch_rng_state": torch.get_rng_state()},
        {"python_rng_state": random.getstate()},
        {"loader": ORDERED},
    ],
    ids=lambda states: next(iter(states)),
)
def test_a_count_beside_an_order(tmp_path: Path, states: dict[str, Any]) -> None:
    """Nothing is missed where a sampler's, a generator's or a loader's state tells the order."""
    assert found_in(saved(tmp_path, **COUNT, **states)) is None


def test_generators_make_up_for_a_count_alone(tmp_path: Path) -> None:
    """Without a count no generator puts the run back to its place in the epoch's order."""
    assert found_in(saved(tmp_path, torch_rng_state=torch.get_rng_state())) is not None
