"""What an optimizer keeps beyond its need is taken off; what may be needed stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.errors import UsageError
from tests.repairs.conftest import Treat, codes, found, load, said, trained


def save(path: Path, change: Any = None, **options: Any) -> Path:
    """A checkpoint whose optimizer's entries were changed."""
    model, optimizer = trained(**options)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 2}
    for entry in state["optimizer"]["state"].values():
        if change is not None:
            change(entry)
    torch.save(state, path)
    return path


def widen(entry: dict[str, torch.Tensor]) -> None:
    """Moments in float64."""
    entry.update({name: value.double() for name, value in entry.items() if value.dim()})


def test_wide_state_is_cast(treat: Treat, tmp_path: Path) -> None:
    """Moments become float32, and the copy says that values changed; step counters stay as they are."""
    outcome = treat(save(tmp_path / "x.pt", widen))
    assert codes(outcome) == ["STA131"]
    assert not outcome.is_exact
    assert "cast 8 tensors of state from float64 to float32" in said(outcome)
    entry = load(outcome)["optimizer"]["state"][0]
    assert {name: value.dtype for name, value in entry.items()} == dict.fromkeys(
        ("step", "exp_avg", "exp_avg_sq"), torch.float32
    )
    assert "STA131" not in found(outcome)


def test_values_that_float32_cannot_hold_stay_wide(treat: Treat, tmp_path: Path) -> None:
    """A moment that would become infinite is not cast, and that is told."""

    def overflow(entry: dict[str, torch.Tensor]) -> None:
        widen(entry)
        entry["exp_avg_sq"].view(-1)[0] = 1e300

    outcome = treat(save(tmp_path / "x.pt", overflow))
    entry = load(outcome)["optimizer"]["state"][0]
    assert (entry["exp_avg"].dtype, entry["exp_avg_sq"].dtype) == (torch.float32, torch.float64)
    assert "the values of 4 tensors" in said(outcome)


def test_state_of_wide_parameters_is_not_wide(treat: Treat, tmp_path: Path) -> None:
    """float64 moments of float64 parameters are what they should be."""
    model = torch.nn.Linear(4, 4).double()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 4, dtype=torch.float64)).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "x.pt")
    assert not treat(tmp_path / "x.pt").has_changes


def test_dead_amsgrad_is_dropped(treat: Treat, tmp_path: Path) -> None:
    """The third moment goes where amsgrad is off, and only there."""
    path = save(tmp_path / "x.pt", amsgrad=True)
    assert not treat(path, output=tmp_path / "on.pt").has_changes
    state = torch.load(path, weights_only=True)
    state["optimizer"]["param_groups"][0]["amsgrad"] = False
    torch.save(state, path)
    outcome = treat(path, output=tmp_path / "off.pt")
    assert outcome.is_exact
    assert set(load(outcome)["optimizer"]["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}


def test_unknown_names_stay_until_they_are_named(treat: Treat, tmp_path: Path) -> None:
    """State that no optimizer known here uses may be that of the user's own: only its name drops it."""

    def keep_gradients(entry: dict[str, torch.Tensor]) -> None:
        entry["grad_copy"] = entry["exp_avg"].clone()

    path = save(tmp_path / "x.pt", keep_gradients)
    kept = treat(path, output=tmp_path / "kept.pt")
    assert not kept.has_changes
    assert "--drop-state grad_copy" in said(kept)
    dropped = treat(path, output=tmp_path / "dropped.pt", dropped_names=frozenset({"grad_copy"}))
    assert "grad_copy" not in load(dropped)["optimizer"]["state"][0]
    assert "STA131" not in found(dropped)
    for name in ("exp_avg", "grad_kopy"):
        with pytest.raises(UsageError, match=name) as caught:
            treat(path, output=tmp_path / "no.pt", dropped_names=frozenset({name}))
        assert "grad_copy" in str(caught.value.hint)


def test_views_of_large_buffers_are_cut(treat: Treat, tmp_path: Path) -> None:
    """Moments that are rows of a large buffer get storages of their own; the model's are left alone."""

    def drag(entry: dict[str, torch.Tensor]) -> None:
        big = torch.zeros(50, *entry["exp_avg"].shape)
        big[3] = entry["exp_avg"]
        entry["exp_avg"] = big[3]

    path = save(tmp_path / "x.pt", drag)
    before = torch.load(path, weights_only=True)["optimizer"]["state"]
    outcome = treat(path, only=frozenset({"STA131"}))
    after = load(outcome)["optimizer"]["state"]
    assert outcome.is_exact
    for id_, entry in after.items():
        assert torch.equal(entry["exp_avg"], before[id_]["exp_avg"])
        assert entry["exp_avg"].untyped_storage().nbytes() == entry["exp_avg"].nbytes
