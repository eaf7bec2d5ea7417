"""Histories are cut to their last values; what a resume may need stays."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.repairs.state.sta144_payload_grows import KEPT_VALUES
from tests.repairs.conftest import Treat, codes, found, is_equal, load, resumed, said, trained

MANY = 40_000


def save(path: Path, **extra: Any) -> Path:
    """A checkpoint with something beside its states."""
    model, optimizer = trained()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 2, **extra}, path)
    return path


def lines() -> list[str]:
    """A long list of lines of a log: 5 MB in all."""
    return [f"step {index}: {'loss goes down and so does the learning rate, ' * 2}" for index in range(MANY)]


@pytest.mark.parametrize(
    ("extra", "last"),
    [
        ({"log": lines(), "losses": [0.5] * 5000}, lambda back: back["log"][len(back["losses"]) - 100 :]),
        ({"metrics": {"train": {"acc": lines()}}}, lambda back: back["metrics"]["train"]["acc"]),
        ({"history": dict(enumerate(lines()))}, lambda back: list(back["history"].values())),
        (
            {"log_history": [{"loss": x} for x in lines()]},
            lambda back: [r["loss"] for r in back["log_history"]],
        ),
    ],
)
def test_histories_keep_their_last_values(
    treat: Treat, tmp_path: Path, extra: dict[str, Any], last: Any
) -> None:
    """Whatever form a history has, its end stays, the file is small, and training is as before."""
    path = save(tmp_path / "x.pt", **extra)
    outcome = treat(path)
    assert codes(outcome) == ["STA144"]
    assert "STA144" not in found(outcome)
    assert last(load(outcome)) == lines()[-KEPT_VALUES:]
    assert outcome.after is not None
    smaller = outcome.before.size_bytes - outcome.after.size_bytes
    assert smaller == pytest.approx(outcome.saved_bytes, rel=0.01)
    assert is_equal(resumed(load(outcome)), resumed(torch.load(path, weights_only=True)))


def test_other_lists_stay(treat: Treat, tmp_path: Path) -> None:
    """An order of samples, a vocabulary and weights of classes are no histories, however long."""
    order = list(range(MANY))
    random.Random(0).shuffle(order)
    extra = {
        "order": order,
        "vocabulary": {f"word{index}": index for index in range(50_000)},
        "loss_weights": lines(),
    }
    outcome = treat(save(tmp_path / "x.pt", **extra))
    assert not codes(outcome)
    assert "may be more than a history" in said(outcome)
    assert load(outcome)["order"] == order


def test_states_are_not_searched(treat: Treat, tmp_path: Path) -> None:
    """What lies within a state is the state's, whatever it is called."""
    scheduler = {"last_epoch": 3, "base_lrs": [0.1], "_step_count": 4, "lrs": lines()}
    outcome = treat(save(tmp_path / "x.pt", scheduler=scheduler))
    assert not codes(outcome)
    assert load(outcome)["scheduler"] == scheduler
