"""States that a checkpoint has to keep."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.guard.state_kept import state_kept
from tests.structure.source import ROOT

CHECKPOINTS = ROOT / "fixtures" / "checkpoints"
NOT_IN_COMPLETE = {StateKind.COMPILE_CACHE, StateKind.LOADER_ARGUMENTS}


def test_a_checkpoint_that_keeps_all() -> None:
    """Nothing is wrong where all that is required is there; names and kinds are both taken."""
    kept = [kind for kind in StateKind if kind not in NOT_IN_COMPLETE]
    assert state_kept(CHECKPOINTS / "complete.pt", kept) is None
    assert state_kept(str(CHECKPOINTS / "complete.pt"), [kind.value for kind in kept]) is None


@pytest.mark.parametrize("kind", [kind for kind in StateKind if kind is not StateKind.MODEL])
def test_each_state_that_is_missing(kind: StateKind) -> None:
    """A file of weights alone lacks every other state, and each is named with its cost and its remedy."""
    failure = state_kept(CHECKPOINTS / "weights.pt", ["model", kind])
    assert failure is not None
    first, *lines = str(failure).splitlines()
    assert first == f"The checkpoint does not keep what a resume needs: {kind.value}."
    assert lines[0].startswith(f"Missing: {kind.value} (STA")
    assert lines[1].startswith("  Cost: ")
    assert lines[2].startswith("  Fix: ")
    assert lines[3].startswith("  More: ckpt-doctor explain STA")
    assert lines[4] == f"Checkpoint: {CHECKPOINTS / 'weights.pt'}"


def test_missing_weights(tmp_path: Path) -> None:
    """A checkpoint of an optimizer alone lacks the model."""
    model = torch.nn.Linear(2, 2)
    torch.save(
        {"optimizer": torch.optim.SGD(model.parameters(), lr=0.1).state_dict(), "step": 3}, tmp_path / "a.pt"
    )
    failure = state_kept(tmp_path / "a.pt", ["model", "optimizer", "step"])
    assert failure is not None
    assert failure.sentence.endswith(": model.")


def test_a_position_without_its_order(tmp_path: Path) -> None:
    """A state that is there only in part is not kept."""
    loader = {"_num_yielded": 3, "_sampler_iter_yielded": 3}
    torch.save({"model": {"weight": torch.ones(2, 2)}, "loader": loader}, tmp_path / "a.pt")
    failure = state_kept(tmp_path / "a.pt", ["model", "dataloader_position"])
    assert failure is not None
    assert "dataloader_position: it is there only in part: " in str(failure)


def test_a_state_that_cannot_be_told(tmp_path: Path) -> None:
    """A damaged part of a checkpoint may hold the state or not: that is no pass."""
    torch.save({"weight": torch.ones(2, 2)}, tmp_path / "model.pt")
    torch.save({"state": {}, "param_groups": []}, tmp_path / "optimizer.pt")
    whole = (tmp_path / "optimizer.pt").read_bytes()
    (tmp_path / "optimizer.pt").write_bytes(whole[: len(whole) // 2])
    failure = state_kept(tmp_path, ["model", "optimizer"])
    assert failure is not None
    assert "optimizer: it cannot be told whether it is there: optimizer.pt" in str(failure)


@pytest.mark.parametrize(
    ("require", "what"),
    [(["optimiser"], "'optimiser' is no kind of state"), ([], "no kind of state is required")],
)
def test_no_such_state(require: list[str], what: str) -> None:
    """A state that does not exist, or none at all, is no assertion."""
    with pytest.raises(UsageError, match=what) as caught:
        state_kept(CHECKPOINTS / "complete.pt", require)
    assert caught.value.hint is not None
    assert "sampler_rng" in caught.value.hint


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is an error, not a missing state."""
    with pytest.raises(CheckpointError):
        state_kept(tmp_path / "none.pt", ["model"])
