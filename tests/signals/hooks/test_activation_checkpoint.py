"""Activation checkpoints, and the time in which backward repeats forward."""

from __future__ import annotations

import pytest

from tests.conftest import Train
from tests.recorded import MODEL, check_parts

DEEP = """
import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
block = lambda: torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh())
blocks = torch.nn.Sequential(*(block() for _ in range(4)))
optimizer = torch.optim.SGD(blocks.parameters(), lr=1e-3)
x = torch.ones(512, 64, requires_grad=True)
def train(forward):
    optimizer.zero_grad()
    loss = forward(x).sum()
    loss.backward()
    optimizer.step()
    print(repr(loss.item()), repr(blocks[0][0].weight.grad.sum().item()))
def checkpointed(y):
    for block in blocks:
        y = checkpoint(block, y, use_reentrant={reentrant})
    return y
train(blocks)
for _ in range(3): train(checkpointed)
with torch.no_grad(): checkpointed(x)
train(blocks)
train(lambda y: checkpoint(checkpointed, y, use_reentrant={reentrant}))
"""

FAILING = (
    MODEL
    + """
from torch.utils.checkpoint import checkpoint
calls = 0
def unlucky(y):
    global calls
    calls += 1
    if calls == 2:
        raise KeyError
    return model(y)
try:
    checkpoint(unlucky, torch.ones(4, 8, requires_grad=True), use_reentrant={reentrant}).sum().backward()
except KeyError:
    pass
step()
for _ in range(2):
    checkpoint(model, torch.ones(4, 8, requires_grad=True), use_reentrant={reentrant}).sum().backward()
    optimizer.step()
"""
)

COMPILED = """
import torch, torch._dynamo
from torch.utils.checkpoint import checkpoint
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
    def forward(self, x):
        return self.b(checkpoint(self.a, x, use_reentrant=False))
inner = Net()
model = torch.compile(inner, backend="aot_eager", fullgraph=True)
optimizer = torch.optim.SGD(inner.parameters(), lr=1e-3)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
counters = torch._dynamo.utils.counters
print(sum(counters["graph_break"].values()), counters["stats"]["unique_graphs"])
"""


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_are_counted_and_what_they_cost(train: Train, reentrant: bool) -> None:
    """Each call in training, and the time within backward; a nested one repeats its forward in one go."""
    recorded = train(DEEP.format(reentrant=reentrant))
    assert recorded.process.returncode == 0, recorded.process.stderr
    calls, seconds = recorded.counts("activation_checkpoints"), recorded.counts("recompute_s")
    assert calls[:5] == [0, 4, 4, 4, 0]
    assert (calls[5] or 0) >= 5
    assert [bool(s) for s in seconds] == [False, True, True, True, False, True]
    for spent_s, backward_s in zip(seconds, recorded.steps.parts["backward"], strict=True):
        assert 0 <= (spent_s or 0) < backward_s
    check_parts(recorded.steps)


def test_both_kinds_compute_the_same(train: Train) -> None:
    """Losses and gradients do not depend on how the checkpoints are made, or on being timed."""
    outputs = [train(DEEP.format(reentrant=kind)).process.stdout for kind in (False, True)]
    assert len(outputs[0].splitlines()) == 6
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_that_fails_in_backward_is_over(train: Train, reentrant: bool) -> None:
    """An exception ends the time of its step, and later steps have their own."""
    recorded = train(FAILING.format(reentrant=reentrant))
    assert recorded.process.returncode == 0, recorded.process.stderr
    first, second, third = recorded.counts("recompute_s")
    backward_s = recorded.steps.parts["backward"]
    assert 0 < (first or 0) < backward_s[0]
    assert 0 < (second or 0) < backward_s[1]
    assert 0 < (third or 0) < backward_s[2]


def test_a_script_that_never_imports_them_has_counted_none(train: Train) -> None:
    """Zero is told, so that it is not taken for unknown."""
    recorded = train(MODEL + "step(); step()")
    assert recorded.counts("activation_checkpoints") == recorded.counts("recompute_s") == [0, 0]


def test_compiled_checkpoints_break_no_graph(train: Train) -> None:
    """Dynamo knows the function by its identity: one frame, compiled once, and no calls afterwards."""
    recorded = train(COMPILED)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.process.stdout.split() == ["0", "1"]
    assert [count for count in recorded.counts("compiles") if count] == [2]
    assert recorded.counts("activation_checkpoints") == [0] * 6
