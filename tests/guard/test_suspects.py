"""Which missing states are blamed for a resumed run that is another one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.guard.suspects import Clues, explained

NO_CLUES = Clues(other_generators=frozenset(), same_samples=None)


def saved(folder: Path, *without: str, **more: Any) -> Path:
    """A checkpoint of what every run has, but for some of it."""
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    whole = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "step": 1,
        "epoch": 0,
        "sampler_rng": torch.Generator().get_state(),
        "batches_done": 1,
        "torch_rng": torch.get_rng_state(),
        "python_rng": random.getstate(),
        **more,
    }
    path = folder / "last.pt"
    torch.save({name: state for name, state in whole.items() if name not in without}, path)
    return path


def blamed(lines: tuple[str, ...]) -> set[str]:
    """The states that are called missing."""
    told = (line.removeprefix("Missing: ").partition(" (")[0] for line in lines if line.startswith("Missing"))
    return {name for names in told for name in names.split(", ")}


@pytest.mark.parametrize("name", ["model", "optimizer", "step", "epoch"])
def test_what_every_run_has(tmp_path: Path, name: str) -> None:
    """The one that is missing is blamed, whatever the samples were."""
    assert blamed(explained(saved(tmp_path, name), Clues(frozenset(), same_samples=True))) == {name}


@pytest.mark.parametrize(
    ("name", "names"),
    [("sampler_rng", {"sampler_epoch", "sampler_rng"}), ("batches_done", {"dataloader_position"})],
)
@pytest.mark.parametrize("same_samples", [None, False, True])
def test_the_data(tmp_path: Path, name: str, names: set[str], same_samples: bool | None) -> None:
    """The order and the place of the data are not blamed where the samples were the same."""
    lines = explained(saved(tmp_path, name), Clues(frozenset(), same_samples))
    assert blamed(lines) & names == (set() if same_samples else names)


def test_either_fixes_the_order(tmp_path: Path) -> None:
    """A sampler's epoch makes up for its generator."""
    path = saved(tmp_path, "sampler_rng", sampler_epoch=1)
    assert not blamed(explained(path, Clues(frozenset(), same_samples=False))) & {"sampler_rng"}


def test_generators(tmp_path: Path) -> None:
    """Only generators that the run draws from, and that came back elsewhere, are blamed."""
    path = saved(tmp_path, "torch_rng")
    other = frozenset({StateKind.TORCH_RNG, StateKind.PYTHON_RNG})
    lines = explained(path, Clues(other, same_samples=True))
    assert blamed(lines) == {"torch_rng"}
    assert "Not put back: python_rng" in lines
    assert blamed(explained(path, Clues(frozenset({StateKind.NUMPY_RNG}), same_samples=True))) == {
        "numpy_rng"
    }


def test_a_scheduler_that_left_its_mark(tmp_path: Path) -> None:
    """A scheduler is blamed where the optimizer shows that there was one."""
    path = saved(tmp_path)
    lines = explained(path, NO_CLUES)
    assert lines[0].startswith("What every run needs is in the checkpoint")
    assert "Or the run has one of these:" in lines
    assert blamed(lines) == {"scheduler", "ema"}
    state = torch.load(path, weights_only=True)
    state["optimizer"]["param_groups"][0]["initial_lr"] = 0.1
    torch.save(state, path)
    assert blamed(explained(path, NO_CLUES)) == {"scheduler"}
