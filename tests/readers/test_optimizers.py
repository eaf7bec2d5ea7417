"""What the state of real optimizers weighs against what they need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.facts.checkpoint import OptimizerFacts
from ckpt_doctor.readers.algorithms import ALGORITHMS, recognise
from ckpt_doctor.readers.inspection import read_checkpoint

Make = Callable[[Any], torch.optim.Optimizer]
FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"

OPTIMIZERS: dict[str, tuple[str, Make]] = {
    "sgd momentum": ("SGD", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    "adam": ("Adam/AdamW", torch.optim.Adam),
    "adamw": ("Adam/AdamW", torch.optim.AdamW),
    "adamw amsgrad": ("Adam/AdamW", lambda p: torch.optim.AdamW(p, amsgrad=True)),
    "adamax": ("Adamax", torch.optim.Adamax),
    "nadam": ("NAdam", torch.optim.NAdam),
    "radam": ("Adam-like", torch.optim.RAdam),
    "rmsprop": ("RMSprop", torch.optim.RMSprop),
    "rmsprop centered": ("RMSprop", lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True)),
    "adagrad": ("Adagrad", torch.optim.Adagrad),
    "adadelta": ("Adadelta", torch.optim.Adadelta),
    "asgd": ("ASGD", torch.optim.ASGD),
    "rprop": ("Rprop", torch.optim.Rprop),
    "adafactor": ("Adafactor", torch.optim.Adafactor),
}


def trained(make: Make, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """A model and its optimizer after two steps."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 4)).to(dtype)
    optimizer = make(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 6, dtype=dtype)).sum().backward()
        optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def facts_of(path: Path, state: dict[str, Any]) -> OptimizerFacts:
    """The facts of the one optimizer in a checkpoint."""
    torch.save(state, path)
    (facts,) = read_checkpoint(str(path)).optimizers
    return facts


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_healthy_optimizers_need_what_they_have(tmp_path: Path, name: str) -> None:
    """Every optimizer of torch is recognised, and none of them is bloated."""
    algorithm, make = OPTIMIZERS[name]
    facts = facts_of(tmp_path / "x.pt", trained(make))
    assert facts.algorithm == algorithm
    assert facts.bloat_ratio == pytest.approx(1.0)
    assert (facts.orphans, facts.duplicates, facts.extra_keys) == ((), (), ())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_small_parameters_may_have_wide_state(tmp_path: Path, dtype: torch.dtype) -> None:
    """Moments in float32 of 16-bit parameters are what several optimizers keep by design."""
    state = trained(torch.optim.AdamW, dtype)
    for entry in state["optimizer"]["state"].values():
        entry.update({key: value.float() for key, value in entry.items() if key != "step"})
    facts = facts_of(tmp_path / "x.pt", state)
    assert facts.bloat_ratio == pytest.approx(1.0)
    assert facts.parameter_dtypes == (str(dtype).removeprefix("torch."),)


def test_wide_state_is_twice_what_is_needed(tmp_path: Path) -> None:
    """Moments in float64 of float32 parameters weigh about twice."""
    state = trained(torch.optim.AdamW)
    for entry in state["optimizer"]["state"].values():
        entry.update({key: value.double() for key, value in entry.items() if key != "step"})
    assert facts_of(tmp_path / "x.pt", state).bloat_ratio == pytest.approx(2.0, abs=0.1)


def test_wide_factors_are_more_than_any_parameter_asks_for(tmp_path: Path) -> None:
    """Rows and columns of Adafactor do not tell their parameter, but no parameter is in float64."""
    state = trained(torch.optim.Adafactor)
    state["model"]["batches"] = torch.tensor([3, 4])
    for entry in state["optimizer"]["state"].values():
        entry.update({key: value.double() for key, value in entry.items() if key != "step"})
    facts = facts_of(tmp_path / "x.pt", state)
    assert facts.bloat_ratio == pytest.approx(2.0, abs=0.3)
    assert facts.surplus_bytes["wide"] > 0
    state["model"]["wide"] = torch.zeros(3, dtype=torch.float64)
    assert facts_of(tmp_path / "y.pt", state).bloat_ratio == pytest.approx(1.0)


def test_dead_amsgrad_is_not_needed(tmp_path: Path) -> None:
    """The third moment of an amsgrad that was switched off is surplus."""
    state = trained(lambda p: torch.optim.AdamW(p, amsgrad=True))
    state["optimizer"]["param_groups"][0]["amsgrad"] = False
    assert facts_of(tmp_path / "x.pt", state).bloat_ratio == pytest.approx(1.5, abs=0.1)


def test_keys_that_do_not_belong_are_named(tmp_path: Path) -> None:
    """State under a name that the algorithm does not use is surplus."""
    state = trained(torch.optim.AdamW)
    for entry in state["optimizer"]["state"].values():
        entry["grad_copy"] = entry["exp_avg"].clone()
    facts = facts_of(tmp_path / "x.pt", state)
    assert facts.extra_keys == ("grad_copy",)
    assert facts.bloat_ratio == pytest.approx(1.5, abs=0.1)


def test_a_frozen_parameter_is_no_fault(tmp_path: Path) -> None:
    """A parameter without state, and one that the optimizer does not list, are normal."""
    state = trained(torch.optim.AdamW)
    del state["optimizer"]["state"][0]
    facts = facts_of(tmp_path / "x.pt", state)
    assert facts.entries == 3
    assert facts.bloat_ratio == pytest.approx(1.0)


def test_state_of_unknown_make_is_not_judged(tmp_path: Path) -> None:
    """An optimizer whose state nobody knows has no ratio, and says so."""
    state = trained(torch.optim.AdamW)
    entries = state["optimizer"]["state"]
    state["optimizer"]["state"] = {id_: {"strange": torch.zeros(3)} for id_ in entries}
    facts = facts_of(tmp_path / "x.pt", state)
    assert facts.algorithm is None
    assert facts.bloat_ratio is None
    assert facts.notes


def test_two_optimizers_in_one_file(tmp_path: Path) -> None:
    """Each optimizer of a file has facts of its own."""
    first, second = trained(torch.optim.AdamW), trained(torch.optim.AdamW)
    path = tmp_path / "gan.pt"
    torch.save(
        {
            "generator": first["model"],
            "discriminator": second["model"],
            "g_optimizer": first["optimizer"],
            "d_optimizer": second["optimizer"],
        },
        path,
    )
    facts = read_checkpoint(str(path)).optimizers
    assert [o.where for o in facts] == ["g_optimizer", "d_optimizer"]
    assert [o.bloat_ratio for o in facts] == [pytest.approx(1.0)] * 2


def test_options_of_the_groups(tmp_path: Path) -> None:
    """Flags are kept as saved, with None apart from a missing one."""
    facts = facts_of(tmp_path / "x.pt", trained(lambda p: torch.optim.AdamW(p, foreach=False)))
    options = facts.groups[0].options
    assert options["foreach"] is False
    assert options["fused"] is None
    assert options["betas"] == (0.9, 0.999)
    assert facts.groups[0].parameters == 4


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_each_algorithm_is_recognised_by_its_own_state(algorithm: Any) -> None:
    """The full state and the marks of an algorithm lead to something that explains all of it."""
    found = recognise(algorithm.names, algorithm.marks)
    assert found is not None
    assert algorithm.names <= found.names


@pytest.mark.parametrize(
    ("name", "causes"),
    [
        ("wide_state.pt", {"wide"}),
        ("orphaned_state.pt", {"orphans"}),
        ("duplicated_groups.pt", {"duplicates"}),
        ("dragged_views.pt", {"views"}),
        ("amsgrad.pt", set()),
    ],
)
def test_surplus_is_told_apart_by_its_cause(name: str, causes: set[str]) -> None:
    """Each cause is found where it was put, and all of them add up to what is beyond the need."""
    (facts,) = read_checkpoint(str(FIXTURES / name)).optimizers
    assert facts.expected_bytes is not None
    assert set(facts.surplus_bytes) == causes
    assert sum(facts.surplus_bytes.values()) == facts.state_bytes - facts.expected_bytes


def test_several_causes_add_up(tmp_path: Path) -> None:
    """Wide, dead, unknown, orphaned and dragged state of one optimizer is each counted once."""
    state = trained(lambda p: torch.optim.AdamW(p, amsgrad=True))
    optimizer = state["optimizer"]
    optimizer["param_groups"][0]["amsgrad"] = False
    entries = optimizer["state"]
    entries[77] = {name: value.clone() for name, value in entries[0].items()}
    for entry in entries.values():
        entry["exp_avg"] = entry["exp_avg"].double()
        entry["exp_avg_sq"] = torch.stack([entry["exp_avg_sq"]] * 3)[1]
        entry["grad_copy"] = entry["exp_avg"].clone()
    facts = facts_of(tmp_path / "x.pt", state)
    assert set(facts.surplus_bytes) == {"wide", "views", "dead", "unknown", "orphans"}
    assert facts.expected_bytes is not None
    assert sum(facts.surplus_bytes.values()) == facts.state_bytes - facts.expected_bytes
    assert (facts.orphans, facts.duplicates) == (("77",), ())
