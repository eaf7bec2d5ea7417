"""State without a parameter goes; what may be live stays."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch

from tests.repairs.conftest import Treat, codes, found, load, said, trained


def checkpoint() -> dict[str, Any]:
    """The state of a run with four parameters."""
    model, optimizer = trained()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 2}


def twice() -> dict[str, Any]:
    """The same, with every group and its state a second time."""
    state = checkpoint()
    optimizer = state["optimizer"]
    twin = copy.deepcopy(optimizer["param_groups"][0])
    twin["params"] = [id_ + 4 for id_ in twin["params"]]
    optimizer["param_groups"].append(twin)
    optimizer["state"].update({id_ + 4: copy.deepcopy(entry) for id_, entry in optimizer["state"].items()})
    return state


def test_unlisted_entries_are_dropped(treat: Treat, tmp_path: Path) -> None:
    """An entry whose id no group lists goes, and nothing else."""
    state = checkpoint()
    state["optimizer"]["state"][99] = {"exp_avg": torch.ones(3)}
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt", only=frozenset({"STA132"}))
    assert codes(outcome) == ["STA132"]
    assert outcome.is_exact
    assert list(load(outcome)["optimizer"]["state"]) == [0, 1, 2, 3]


def test_state_of_parameters_that_are_nowhere_begins_anew(treat: Treat, tmp_path: Path) -> None:
    """The entry goes and its id stays listed, so that the copy loads into the same optimizer."""
    state = checkpoint()
    entry = {"step": torch.tensor(2.0), "exp_avg": torch.ones(7, 7), "exp_avg_sq": torch.ones(7, 7)}
    state["optimizer"]["state"][4] = entry
    state["optimizer"]["param_groups"][0]["params"].append(4)
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert "--skip STA132" in said(outcome)
    assert "STA132" not in found(outcome)
    optimizer = load(outcome)["optimizer"]
    assert list(optimizer["state"]) == [0, 1, 2, 3]
    assert optimizer["param_groups"][0]["params"] == [0, 1, 2, 3, 4]


def test_copies_of_groups_are_dropped(treat: Treat, tmp_path: Path) -> None:
    """A second group whose state is that of the first goes as a whole."""
    torch.save(twice(), tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    optimizer = load(outcome)["optimizer"]
    assert [group["params"] for group in optimizer["param_groups"]] == [[0, 1, 2, 3]]
    assert list(optimizer["state"]) == [0, 1, 2, 3]
    assert not {"STA131", "STA132"} & found(outcome)


def test_second_entries_that_differ_stay(treat: Treat, tmp_path: Path) -> None:
    """Where the second state is another one, nobody can tell which is live, and nothing is dropped."""
    state = twice()
    state["optimizer"]["state"][6]["exp_avg"] += 1
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert not codes(outcome)
    assert "the live ones cannot be told" in said(outcome)
    assert "STA132" in found(outcome)


def test_zeros_prove_nothing(treat: Treat, tmp_path: Path) -> None:
    """State that is all zero is equal by chance: it may be that of other parameters."""
    state = twice()
    for entry in state["optimizer"]["state"].values():
        entry.update({name: torch.zeros_like(value) for name, value in entry.items()})
    torch.save(state, tmp_path / "x.pt")
    assert not codes(treat(tmp_path / "x.pt"))


def test_parameters_are_listed_once(treat: Treat, tmp_path: Path) -> None:
    """An id that is listed again, and its name, stay where they stand first."""
    state = checkpoint()
    group = state["optimizer"]["param_groups"][0]
    group["params"] = [0, 1, 2, 3, 1, 0]
    group["param_names"] = ["a", "b", "c", "d", "b", "a"]
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    group = load(outcome)["optimizer"]["param_groups"][0]
    assert group["params"] == [0, 1, 2, 3]
    assert group["param_names"] == ["a", "b", "c", "d"]
    assert "STA132" not in found(outcome)
