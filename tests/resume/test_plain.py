"""Copies that hold what they need, and that load without running code."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict, defaultdict
from enum import Enum

import numpy
import pytest
import torch
from torch import nn

from ckpt_doctor.errors import UsageError
from ckpt_doctor.resume.plain import plain_copy


class Colour(Enum):
    """Not plain."""

    RED = 1


def loaded(value: object) -> object:
    """The value after a trip through a file, with weights_only=True."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_view_does_not_drag_its_storage() -> None:
    """A slice of a large tensor takes the room of the slice."""
    large = torch.zeros(1000)
    copy = plain_copy(
        {"slice": large[10:12], "row": large.view(10, 100)[3], "wide": torch.zeros(1).expand(5)}, "x"
    )
    assert [tensor.untyped_storage().nbytes() for tensor in copy.values()] == [8, 400, 20]


def test_tied_weights_stay_tied() -> None:
    """Tensors that share memory share it in the copy, and take their room once."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    copy = plain_copy(model.state_dict(), "model")
    assert copy["0.weight"].data_ptr() == copy["1.weight"].data_ptr()
    assert copy["0.weight"].data_ptr() != model[0].weight.data_ptr()


def test_a_copy_is_a_copy() -> None:
    """Training on does not change it, and it takes no part in autograd."""
    parameter = nn.Parameter(torch.ones(2))
    copy = plain_copy([parameter], "x")
    with torch.no_grad():
        parameter.zero_()
    assert copy[0].tolist() == [1.0, 1.0]
    assert not copy[0].requires_grad


def test_containers_keep_their_kind() -> None:
    """Tuples, counters and the versions of a module's layers survive, also in a file."""
    versions = nn.BatchNorm1d(2).state_dict()
    value = {
        "t": (1, 2.5),
        "c": Counter({30: 1}),
        "m": versions,
        "d": defaultdict(list, {"a": [None]}),
        5: b"x",
    }
    copy = loaded(plain_copy(value, "x"))
    assert isinstance(copy, dict)
    assert copy["t"] == (1, 2.5)
    assert type(copy["c"]) is Counter
    assert type(copy["m"]) is OrderedDict
    assert copy["m"]._metadata == versions._metadata
    assert type(copy["d"]) is dict
    assert copy[5] == b"x"


@pytest.mark.parametrize(
    "value",
    [numpy.float64(1), numpy.zeros(2), {1, 2}, Colour.RED, lambda: 0, {("a", 1): 2}, {"a": [object()]}],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_load_is_refused(value: object) -> None:
    """Everything that weights_only=True would refuse is refused at the save, with its place."""
    with pytest.raises(UsageError, match=r"^mine\.inner"):
        plain_copy({"inner": value}, "mine")
