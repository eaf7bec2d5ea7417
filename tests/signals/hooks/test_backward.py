"""Backward time and passes."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL, check_parts

BACKWARD = (
    MODEL
    + """
import torch.utils.checkpoint
step()
step()
x = torch.ones(4, 8, requires_grad=True)
torch.autograd.grad(model(x).sum(), x)
step()
torch.utils.checkpoint.checkpoint(model, x, use_reentrant=True).sum().backward()
optimizer.step()
class Failing(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x.clone()
    @staticmethod
    def backward(context, g): raise ValueError
try:
    Failing.apply(x).sum().backward()
except ValueError:
    pass
step()
"""
)


def test_passes_are_counted_once(train: Train) -> None:
    """Gradient penalties count; what autograd calls inside a pass does not; a pass that fails is over."""
    recorded = train(BACKWARD)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.counts("backwards") == [1, 1, 2, 1, 2]
    assert min(recorded.steps.parts["backward"]) > 0
    check_parts(recorded.steps)
