"""An optimizer gets back what is its own, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.resume.optimizer import empty_state, expected_state, restore_optimizer

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]

KINDS: dict[str, Make] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p),
    "amsgrad": lambda p: torch.optim.AdamW(p, amsgrad=True),
    "foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "fused": lambda p: torch.optim.AdamW(p, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "adamax": lambda p: torch.optim.Adamax(p),
    "nadam": lambda p: torch.optim.NAdam(p),
    "radam": lambda p: torch.optim.RAdam(p),
    "asgd": lambda p: torch.optim.ASGD(p),
    "rprop": lambda p: torch.optim.Rprop(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}


def parameters(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    """A matrix and a vector."""
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(4, 3, dtype=dtype)), nn.Parameter(torch.randn(3, dtype=dtype))]


def step(optimizer: torch.optim.Optimizer, count: int = 2) -> None:
    """Some steps with gradients that depend on the parameters."""
    for _ in range(count):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = parameter.detach().sin()
        optimizer.step()


def keys(optimizer: torch.optim.Optimizer) -> list[list[str]]:
    """Names of what is kept of each parameter."""
    return [sorted(entry) for entry in optimizer.state.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on(kind: str) -> None:
    """Restored into a new process it steps as the one that went on, bit by bit, and notes nothing."""
    first = KINDS[kind](parameters())
    step(first)
    second = KINDS[kind]([nn.Parameter(p.detach().clone()) for g in first.param_groups for p in g["params"]])
    assert restore_optimizer(second, copy.deepcopy(first.state_dict())) == ()
    step(first)
    step(second)
    for group, other in zip(first.param_groups, second.param_groups, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(group["params"], other["params"], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_is_known_before_the_first_step(kind: str) -> None:
    """What an optimizer would keep is known without a step, which leaves it as it is."""
    optimizer = KINDS[kind](parameters())
    before = copy.deepcopy(optimizer.state_dict())
    steps = 0
    hook = register_optimizer_step_post_hook(lambda *_: count())

    def count() -> None:
        nonlocal steps
        steps += 1

    form = expected_state(optimizer)
    empty = empty_state(optimizer)
    hook.remove()
    assert steps == 0
    assert optimizer.state_dict()["param_groups"] == before["param_groups"]
    assert keys(optimizer) == [sorted(entry) for entry in before["state"].values()]
    step(optimizer, 1)
    assert form is not None
    for (parameter, entry), made in zip(optimizer.state.items(), empty.values(), strict=False):
        assert sorted(form[parameter]) == sorted(entry) == sorted(made)
        for key, value in entry.items():
            if isinstance(value, torch.Tensor):
                assert (made[key].shape, made[key].dtype) == (value.shape, value.dtype)


@pytest.mark.parametrize(("live", "saved"), [(True, False), (True, None), (None, False), (False, True)])
@pytest.mark.parametrize("flag", ["foreach", "fused"])
def test_flags_of_the_live_optimizer_win(flag: str, live: bool | None, saved: bool | None) -> None:
    """Load brings no other implementation back, and says that it did not."""
    theirs = torch.optim.AdamW(parameters(), **{flag: saved})  # type: ignore[arg-type]
    step(theirs)
    mine = torch.optim.AdamW(parameters(), **{flag: live})  # type: ignore[arg-type]
    notes = restore_optimizer(mine, theirs.state_dict())
    assert mine.param_groups[0][flag] is live
    assert notes == (f"{flag} stays {live} (saved: {saved})",)
    step(mine)


def test_numbers_of_the_file_win() -> None:
    """The learning rate is the one of the save, and so is what a scheduler keeps in the group."""
    theirs = torch.optim.AdamW(parameters(), lr=1e-3)
    torch.optim.lr_scheduler.StepLR(theirs, 10)
    theirs.param_groups[0]["lr"] = 1e-5
    mine = torch.optim.AdamW(parameters(), lr=1e-3)
    restore_optimizer(mine, theirs.state_dict())
    assert mine.param_groups[0]["lr"] == 1e-5
    assert mine.param_groups[0]["initial_lr"] == 1e-3


def test_bloat_is_dropped() -> None:
    """Entries of no parameter, keys of no use and doubled widths do not come in."""
    theirs = torch.optim.AdamW(parameters(), amsgrad=True)
    step(theirs)
    saved = theirs.state_dict()
    saved["state"][7] = copy.deepcopy(saved["state"][0])
    saved["state"][0]["grad_copy"] = torch.zeros(4, 3)
    saved["state"][1]["exp_avg"] = saved["state"][1]["exp_avg"].double()
    mine = torch.optim.AdamW(parameters())
    notes = restore_optimizer(mine, saved)
    assert keys(mine) == [["exp_avg", "exp_avg_sq", "step"]] * 2
    assert {v.dtype for entry in mine.state.values() for v in entry.values()} == {torch.float32}
    text = "\n".join(notes)
    assert "1 entries belong to no parameter" in text
    assert "max_exp_avg_sq of 2 parameters is not used" in text
    assert "grad_copy of 1 parameters is not used" in text
    assert "exp_avg is torch.float32 (saved: torch.float64) for 1 parameters" in text
    assert "amsgrad stays False (saved: True)" in text


def test_amsgrad_switched_on() -> None:
    """What the live optimizer needs and the file lacks begins at zero, as if it had been off until now."""
    theirs = torch.optim.AdamW(parameters())
    step(theirs)
    mine = torch.optim.AdamW(parameters(), amsgrad=True)
    notes = restore_optimizer(mine, theirs.state_dict())
    assert "max_exp_avg_sq of 2 parameters was not saved and begins at zero" in notes
    step(mine)


class WideMomentum(torch.optim.Optimizer):
    """Keeps float32 for whatever dtype the parameters have, and makes a key in its second step only."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step."""
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "average" in state:
                    state["late"] = state["average"].clone()
                state["average"] = p.grad.float() if "average" not in state else state["average"] + p.grad
                p -= group["lr"] * state["average"]


def test_others_keep_what_they_saved() -> None:
    """An optimizer that is not torch's gets back every key, in the dtype that it chose."""
    theirs = WideMomentum(parameters(torch.bfloat16))
    step(theirs)
    mine = WideMomentum(parameters(torch.bfloat16))
    assert restore_optimizer(mine, theirs.state_dict()) == ()
    for entry, other in zip(mine.state.values(), theirs.state.values(), strict=True):
        assert entry["late"].dtype == torch.float32
        assert torch.equal(entry["average"], other["average"])


def test_tensor_options_stay_the_same_tensors() -> None:
    """A learning rate that is a tensor is filled, not replaced: compiled steps hold on to it."""
    theirs = torch.optim.Adam(parameters(), lr=torch.tensor(0.5))
    step(theirs)
    rate = torch.tensor(0.1)
    mine = torch.optim.Adam(parameters(), lr=rate)
    restore_optimizer(mine, theirs.state_dict())
    assert mine.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5


def test_frozen_parameters_have_no_entry() -> None:
    """A parameter that never had a gradient gets nothing."""
    model = parameters()
    model[1].requires_grad_(False)
    theirs = torch.optim.Adam(model)
    model[0].grad = torch.ones(4, 3)
    theirs.step()
    mine = torch.optim.Adam(parameters())
    assert restore_optimizer(mine, theirs.state_dict()) == ()
    assert len(mine.state) == 1


def test_other_groups_are_refused() -> None:
    """Groups of other sizes, and parameters in another order, cannot be matched."""
    theirs = torch.optim.Adam(parameters())
    with pytest.raises(CheckpointError, match=r"groups of 1\+1 parameters, the checkpoint's has 2"):
        restore_optimizer(torch.optim.Adam([{"params": [p]} for p in parameters()]), theirs.state_dict())
    named = list(zip(("weight", "bias"), parameters(), strict=True))
    mine = torch.optim.Adam(named)
    with pytest.raises(CheckpointError, match="lists bias where the checkpoint's lists weight"):
        restore_optimizer(torch.optim.Adam(named[::-1]), mine.state_dict())
