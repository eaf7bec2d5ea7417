"""A run that goes on from a repaired copy computes what it would have computed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import torch

from tests.repairs.conftest import FIXTURES, Treat, codes, is_equal, load, resumed, train, trained
from tests.repairs.test_corpus import CORPUS


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("orphaned_state.pt", "STA132"),
        ("dragged_views.pt", "STA131"),
        ("foreach_off.pt", "STA134"),
        ("wide_state.pt", "STA131"),
        ("plain.pt", None),
        ("complete.pt", None),
        ("legacy.pt", None),
    ],
)
def test_five_steps_are_the_same(treat: Treat, name: str, code: str | None) -> None:
    """Five steps from the copy end where five steps from the checkpoint end, to the last bit.

    That holds for a cast too: an optimizer of torch casts what it loads in the same way.
    """
    outcome = treat(FIXTURES / name)
    assert codes(outcome) == ([code] if code else [])
    assert is_equal(resumed(load(outcome)), resumed(torch.load(FIXTURES / name, weights_only=False)))


def test_a_cast_is_close_where_wide_state_was_used_as_it_is(treat: Treat) -> None:
    """An optimizer that computes in float64 goes on from float32 with a difference that float32 has."""
    before = torch.load(FIXTURES / "wide_state.pt", weights_only=True)["optimizer"]["state"]
    after = load(treat(FIXTURES / "wide_state.pt"))["optimizer"]["state"]
    for id_, entry in before.items():
        for name in ("exp_avg", "exp_avg_sq"):
            assert entry[name].dtype is torch.float64
            assert after[id_][name].dtype is torch.float32
            torch.testing.assert_close(after[id_][name].double(), entry[name], rtol=1e-6, atol=0)


def test_groups_that_were_added_twice(treat: Treat) -> None:
    """The checkpoint needs an optimizer with dead parameters; the copy one without, and trains the same."""
    before = torch.load(FIXTURES / "duplicated_groups.pt", weights_only=True)
    model, _ = trained()
    dead = [torch.nn.Parameter(parameter.detach().clone()) for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.add_param_group({"params": dead})
    model.load_state_dict(before["model"])
    optimizer.load_state_dict(before["optimizer"])
    outcome = treat(FIXTURES / "duplicated_groups.pt")
    assert codes(outcome) == ["STA132"]
    assert is_equal(resumed(load(outcome)), train(model, optimizer))


def test_a_compiled_model_loads_into_the_plain_one(treat: Treat) -> None:
    """The copy loads into a model that is compiled afterwards, and trains like the wrapped one."""
    before = torch.load(FIXTURES / "compiled.pt", weights_only=True)
    model, optimizer = trained()
    wrapped = torch.compile(model, backend="eager")
    wrapped.load_state_dict(before["model"])
    optimizer.load_state_dict(before["optimizer"])
    outcome = treat(FIXTURES / "compiled.pt")
    assert codes(outcome) == ["STA143"]
    assert is_equal(resumed(load(outcome)), train(model, optimizer))


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not beside the project")
@pytest.mark.parametrize(
    "name", ["torch_optimizers/adamw_orphan_state", "torch_formats/optimizer_views_drag_storage"]
)
def test_optimizers_of_the_corpus_go_on(treat: Treat, name: str) -> None:
    """Given the same gradients, the parameters of the model end up the same to the last bit."""
    path = CORPUS / "out" / name / "ckpt.pt"
    outcome = treat(path)
    assert outcome.has_changes
    kinds = {
        line["path"]: line["optimizer_class"]
        for line in map(json.loads, (CORPUS / "MANIFEST.jsonl").read_text().splitlines())
        if line.get("optimizer_class")
    }
    kind = kinds[f"{name}/ckpt.pt"]
    before, after = torch.load(path, weights_only=True), load(outcome)
    kept = [id_ for id_ in before["optimizer"]["state"] if id_ in after["optimizer"]["state"]]
    assert kept
    steps = [_steps(state["optimizer"], before["optimizer"], kind) for state in (before, after)]
    assert all(torch.equal(steps[0][id_], steps[1][id_]) for id_ in kept)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not beside the project")
@pytest.mark.parametrize("name", ["torch_formats/views_drag_storage", "torch_formats/view_40x"])
def test_weights_of_the_corpus_are_the_same(treat: Treat, name: str) -> None:
    """What was cut out of a larger storage has the same values, and a model that holds it goes on alike."""
    path = CORPUS / "out" / name / "ckpt.pt"
    outcome = treat(path)
    assert codes(outcome) == ["STA141"]
    before, after = torch.load(path, weights_only=True), load(outcome)
    assert before["step"] == after["step"]
    weights = [
        {key: torch.nn.Parameter(value.clone()) for key, value in state["model"].items()}
        for state in (before, after)
    ]
    assert list(weights[0]) == list(weights[1])
    for own in weights:
        optimizer = torch.optim.SGD(own.values(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            sum(value.square().sum() for value in own.values()).backward()
            optimizer.step()
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def _steps(state: dict[str, Any], shapes: dict[str, Any], kind: str) -> dict[int, torch.Tensor]:
    """Parameters by id after five steps on made gradients; their shapes are those of some state."""
    generator = torch.Generator().manual_seed(5)
    parameters = {
        id_: torch.nn.Parameter(torch.randn(_shape(shapes["state"].get(id_, {})), generator=generator))
        for group in shapes["param_groups"]
        for id_ in group["params"]
    }
    groups = [{"params": [parameters[id_] for id_ in group["params"]]} for group in state["param_groups"]]
    optimizer = getattr(torch.optim, kind)(groups, lr=0.1)
    optimizer.load_state_dict(copy.deepcopy(state))
    for _ in range(5):
        for parameter in parameters.values():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    return {id_: parameter.detach() for id_, parameter in parameters.items()}


def _shape(entry: dict[str, torch.Tensor]) -> torch.Size:
    return next((value.shape for value in entry.values() if value.dim()), torch.Size([1]))
