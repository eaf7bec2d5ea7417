"""What a load leaves in memory."""

from __future__ import annotations

import pytest

from tests.conftest import Train
from tests.recorded import MODEL

SAVED = (
    MODEL
    + """
import numpy
step()
big = torch.nn.Linear(1000, 1000)
adam = torch.optim.Adam(big.parameters())
def train():
    adam.zero_grad()
    big(torch.ones(2, 1000)).sum().backward()
    adam.step()
train()
state = {"model": big.state_dict(), "adam": adam.state_dict(), "numbers": [numpy.ones(1000), 3, "text", None]}
torch.save(state, "big.pt")
def load():
    return torch.load("big.pt", weights_only=False)
"""
)

WHOLE = 3 * 4 * 1_001_000 + 8 * 1000
"""Weights, two moments, and an array; Adam's step counters come on top."""

KEPT = (
    SAVED
    + """
checkpoint = load()
big.load_state_dict(checkpoint["model"])
for _ in range(3):
    step()
"""
)

DROPPED = (
    SAVED
    + """
def restore():
    checkpoint = load()
    big.load_state_dict(checkpoint["model"])
    adam.load_state_dict(checkpoint["adam"])
restore()
for _ in range(3):
    train()
"""
)

IN_USE = (
    SAVED
    + """
checkpoint = load()
adam.load_state_dict(checkpoint["adam"])
for _ in range(3):
    train()
"""
)

SHARED = (
    SAVED
    + """
torch.save({"first": torch.ones(1000)[:10]}, "view.pt")
checkpoint = torch.load("view.pt")
view = checkpoint["first"]
checkpoint = [view, (view, {"again": view[2:]})]
torch.save(checkpoint, "again.pt")
del checkpoint, view
kept = torch.load("again.pt")
for _ in range(3):
    step()
"""
)

SAFETENSORS = (
    MODEL
    + """
from safetensors.torch import load_file, save_file
step()
save_file({"a": torch.ones(10_000)}, "a.safetensors")
kept = load_file("a.safetensors")
for _ in range(3):
    step()
"""
)


def _last(train: Train, source: str) -> dict[str, object]:
    recorded = train(source)
    assert recorded.process.returncode == 0, recorded.process.stderr
    return dict(recorded.rank.fingerprints[-1].values)


def test_a_dictionary_that_a_name_stands_for_is_kept(train: Train) -> None:
    """Every tensor and array of it, though the model has its own copy."""
    values = _last(train, KEPT)
    assert values["memory.loaded_bytes"] == pytest.approx(WHOLE, abs=100)
    assert values["memory.kept_bytes"] == pytest.approx(WHOLE, abs=100)
    assert values["memory.kept_device_bytes"] == 0


def test_a_load_in_a_function_of_its_own_leaves_nothing(train: Train) -> None:
    """The optimizer may have taken the loaded tensors over: they are its own."""
    values = _last(train, DROPPED)
    assert values["memory.loaded_bytes"] == pytest.approx(WHOLE, abs=100)
    assert values["memory.kept_bytes"] == 0


def test_what_the_optimizer_holds_is_not_kept(train: Train) -> None:
    """Of a kept dictionary only the weights and the array are beside what trains."""
    kept = _last(train, IN_USE)["memory.kept_bytes"]
    assert isinstance(kept, int)
    assert 4_000_000 < kept < WHOLE


def test_storages_are_counted_once_and_in_full(train: Train) -> None:
    """Three views of one storage are one storage, as large as it is."""
    assert _last(train, SHARED)["memory.kept_bytes"] == 4000


def test_safetensors(train: Train) -> None:
    """load_file likewise."""
    pytest.importorskip("safetensors")
    assert _last(train, SAFETENSORS)["memory.kept_bytes"] == 40_000


def test_without_a_load_nothing_is_said(train: Train) -> None:
    """A fresh run has no such numbers."""
    assert "memory.kept_bytes" not in _last(train, MODEL + "for _ in range(3):\n    step()\n")
