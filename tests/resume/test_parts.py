"""State of modules, generators and whatever else a run is made of."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from torch import nn

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume import ResumableState
from ckpt_doctor.resume.parts import put_back, state_of
from ckpt_doctor.resume.plain import plain_copy


def test_wrappers_leave_no_trace() -> None:
    """A compiled or wrapped model is saved under its own names, and loads with and without wrapper."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    names = list(model.state_dict())
    state = plain_copy(state_of(torch.compile(model)), "model")
    assert list(state) == names
    for other in (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), nn.DataParallel(nn.Sequential(*model))):
        put_back(other, state)
        assert list(state_of(other)) == names
    inner: Any = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    inner[0] = torch.compile(inner[0])
    assert sorted(state_of(inner)) == sorted(names)
    with torch.no_grad():
        inner[1].weight.zero_()
    put_back(inner, state)
    assert torch.equal(inner[0].weight, model[0].weight)
    assert torch.equal(inner[1].weight, model[1].weight)


def test_weights_are_loaded_in_place() -> None:
    """Tensors of the model stay the tensors that the optimizer and compiled code know."""
    model = nn.Linear(2, 1)
    weight = model.weight
    put_back(model, {name: torch.ones_like(value) for name, value in model.state_dict().items()})
    assert model.weight is weight
    assert weight.tolist() == [[1.0, 1.0]]


def test_another_model_is_refused() -> None:
    """What does not fit is told in one line."""
    with pytest.raises(CheckpointError, match="not the one that was saved") as caught:
        put_back(nn.Linear(2, 1), nn.Linear(3, 1).state_dict())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "generator",
    [
        torch.Generator().manual_seed(3),
        numpy.random.default_rng(3),
        numpy.random.Generator(numpy.random.MT19937(3)),
    ],
    ids=["torch", "numpy", "numpy mt19937"],
)
def test_generators(generator: Any) -> None:
    """Generators of the user's own come back."""

    def draw() -> float:
        if isinstance(generator, torch.Generator):
            return torch.rand((), generator=generator).item()
        return float(generator.random())

    draw()
    state = plain_copy(state_of(generator), "generator")
    expected = [draw(), draw()]
    put_back(generator, state)
    assert [draw(), draw()] == expected


def test_what_has_no_state_is_refused() -> None:
    """A part without state_dict is refused when the state is made."""
    with pytest.raises(UsageError, match=r"parts\.counter is a int, which has no state_dict"):
        ResumableState(parts={"counter": 3})
