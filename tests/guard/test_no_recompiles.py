"""Compilations that should have been over."""

from __future__ import annotations

import json

from tests.conftest import Train

WATCHED = """
import json, torch
from ckpt_doctor.guard.no_recompiles import Recompiles

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.scale = 1
    def forward(self, x):
        return self.layer(x) * self.scale

def told(act):
    recompiles = Recompiles()
    act()
    failure = recompiles.judge()
    return None if failure is None else str(failure)

model = Net()
plain = told(lambda: model(torch.ones(4, 8)))
compiled = torch.compile(model, backend="aot_eager")

def train(scale):
    model.scale = scale
    compiled(torch.ones(4, 8)).sum().backward()

first = told(lambda: train(1))
warm = told(lambda: [train(1) for _ in range(3)])
again = told(lambda: [train(scale) for scale in (1, 2, 2, 3)])
print(json.dumps([plain, first, warm, again]))
"""


def test_what_is_compiled_again(train: Train) -> None:
    """A first compilation and warm steps pass; another guard's failure is told with its reason and remedy."""
    recorded = train(WATCHED)
    assert recorded.process.returncode == 0, recorded.process.stderr
    plain, first, warm, again = json.loads(recorded.process.stdout)
    assert plain.startswith("Nothing was compiled, ")
    assert first is None
    assert warm is None
    lines = again.splitlines()
    assert lines[0].startswith("What was compiled has been compiled again, ")
    assert lines[1].startswith("  forward (train.py:")
    assert "scale" in lines[1]
    assert lines[-2].startswith("  Fix: ")
    assert lines[-1] == "  More: ckpt-doctor explain CMP301"
