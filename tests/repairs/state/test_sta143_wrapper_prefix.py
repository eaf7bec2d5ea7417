"""Names lose what wrappers put into them, and nothing that is their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.repairs.state.sta143_wrapper_prefix import plain_names
from tests.repairs.conftest import Treat, codes, found, is_equal, load, resumed, said, trained


def wrapped(name: Callable[[str], str]) -> dict[str, Any]:
    """A checkpoint whose model's names were changed."""
    model, optimizer = trained()
    weights = model.state_dict()
    renamed = type(weights)((name(key), value) for key, value in weights.items())
    return {"model": renamed, "optimizer": optimizer.state_dict(), "step": 2}


@pytest.mark.parametrize(
    "name",
    [
        lambda key: f"_orig_mod.{key}",
        lambda key: f"module.{key}",
        lambda key: f"_orig_mod.module.{key}",
        lambda key: f"module._orig_mod.{key}",
        lambda key: f"_fsdp_wrapped_module.{key.replace('.', '._fsdp_wrapped_module.')}",
        lambda key: key.replace("0.", "0._checkpoint_wrapped_module."),
        lambda key: key.replace(".", "._orig_mod."),
    ],
)
def test_the_copy_loads_into_the_plain_model(
    treat: Treat, tmp_path: Path, name: Callable[[str], str]
) -> None:
    """Whatever the wrappers, the plain model takes the copy and trains from it."""
    torch.save(wrapped(name), tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert codes(outcome) == ["STA143"]
    assert "STA143" not in found(outcome)
    assert "before the model is wrapped" in said(outcome)
    assert is_equal(resumed(load(outcome)), resumed(wrapped(str)))


def test_real_wrappers(treat: Treat, tmp_path: Path) -> None:
    """The state dict of a compiled model in DataParallel comes out as that of the model, versions too."""
    model, optimizer = trained()
    outer = torch.nn.DataParallel(torch.compile(model, backend="eager"))
    torch.save({"model": outer.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "x.pt")
    copy = load(treat(tmp_path / "x.pt"))["model"]
    assert list(copy) == list(model.state_dict())
    assert copy._metadata == model.state_dict()._metadata


def test_parameters_that_an_optimizer_calls_by_name(treat: Treat, tmp_path: Path) -> None:
    """Ids that are names, as FSDP and DCP give them, lose the same; so do the names beside the ids."""
    state = wrapped(lambda key: f"_fsdp_wrapped_module.{key}")
    names = list(state["model"])
    optimizer = state["optimizer"]
    optimizer["state"] = {names[id_]: entry for id_, entry in optimizer["state"].items()}
    optimizer["param_groups"][0]["params"] = list(names)
    optimizer["param_groups"][0]["param_names"] = list(names)
    torch.save(state, tmp_path / "x.pt")
    copy = load(treat(tmp_path / "x.pt"))
    plain = list(trained()[0].state_dict())
    assert list(copy["model"]) == plain
    assert list(copy["optimizer"]["state"]) == plain
    assert copy["optimizer"]["param_groups"][0]["params"] == plain
    assert copy["optimizer"]["param_groups"][0]["param_names"] == plain


def test_averaged_weights(treat: Treat, tmp_path: Path) -> None:
    """AveragedModel calls what it averages ``module``: that stays, and a compiled model's prefix goes."""
    state = wrapped(lambda key: f"_orig_mod.{key}")
    average = torch.optim.swa_utils.AveragedModel(trained()[0]).state_dict()
    state["ema"] = type(average)(
        (key.replace("module.", "module._orig_mod."), value) for key, value in average.items()
    )
    torch.save(state, tmp_path / "x.pt")
    copy = load(treat(tmp_path / "x.pt"))
    assert list(copy["ema"]) == list(average)
    torch.optim.swa_utils.AveragedModel(trained()[0]).load_state_dict(copy["ema"])


def test_a_name_of_the_models_own_stays(treat: Treat, tmp_path: Path) -> None:
    """``module.`` before some names only may be the name of a part of the model."""
    state = {"model": {"module.w": torch.ones(2), "head.w": torch.ones(2)}, "step": 1}
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert not codes(outcome)
    assert "not every name begins with it" in said(outcome)


def test_names_that_would_clash_stay(treat: Treat, tmp_path: Path) -> None:
    """Two names that would become one are left as they are."""
    state = {"model": {"_orig_mod.w": torch.ones(2), "w": torch.zeros(2)}, "step": 1}
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert not codes(outcome)
    assert "two of them would be the same" in said(outcome)


def test_named_with_only_it_is_stripped_all_the_same(treat: Treat, tmp_path: Path) -> None:
    """A script that loads into the wrapped model keeps its prefix, unless the rule is asked for by name."""
    weights = {f"module.{key}": value for key, value in trained()[0].state_dict().items()}
    optimizer = trained()[1].state_dict()
    state = {"epoch": 1, "arch": "resnet18", "state_dict": weights, "best_acc1": 0.1, "optimizer": optimizer}
    torch.save(state, tmp_path / "x.pt")
    assert not codes(treat(tmp_path / "x.pt", output=tmp_path / "a.pt"))
    asked = treat(tmp_path / "x.pt", output=tmp_path / "b.pt", only=frozenset({"STA143"}))
    assert list(load(asked)["state_dict"]) == list(trained()[0].state_dict())


PART = st.sampled_from(["layer", "0", "module", "_orig_mod", "weight", "x"])


@given(st.lists(st.lists(PART, min_size=1, max_size=5).map(".".join), min_size=1, max_size=5))
def test_names_are_stripped_once_and_for_all(names: list[str]) -> None:
    """Stripping again changes nothing, and no name is lost on the way."""
    plain = plain_names(names)
    assert list(plain) == list(dict.fromkeys(names))
    again = plain_names(plain.values())
    assert all(new == again[new] for new in plain.values())


def test_the_optimizer_follows_the_model(treat: Treat, tmp_path: Path) -> None:
    """Where the model's names stay, those in the optimizer stay with them."""
    state = wrapped(lambda key: f"_orig_mod.{key}")
    state["model"]["0.weight"] = torch.ones(16, 8)
    names = [name for name in state["model"] if name.startswith("_orig_mod.")]
    state["optimizer"]["param_groups"][0]["param_names"] = names
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert not codes(outcome)
    assert load(outcome)["optimizer"]["param_groups"][0]["param_names"] == names
