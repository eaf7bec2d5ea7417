"""Regions of mixed precision."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL

REGIONS = (
    MODEL
    + """
from torch.utils.checkpoint import checkpoint
x = torch.ones(4, 8, requires_grad=True)
half, brain = torch.float16, torch.bfloat16
step()
with torch.autocast("cpu", dtype=brain):
    loss = model(x).sum()
loss.backward(); optimizer.step()
with torch.amp.autocast("cpu", dtype=half):
    with torch.autocast("cpu", enabled=False):
        loss = model(x.float()).sum()
loss.backward(); optimizer.step()
with torch.no_grad(), torch.autocast("cpu", dtype=brain):
    model(x)
step()
with torch.autocast("cpu", dtype=brain):
    loss = checkpoint(model, x, use_reentrant=False).sum() + checkpoint(model, x, use_reentrant=True).sum()
loss.backward(); optimizer.step()
wrapped = torch.autocast("cpu", dtype=brain)(model)
(wrapped(x).sum() + wrapped(x).sum()).backward(); optimizer.step()
print(torch.is_autocast_enabled("cpu"))
"""
)

COMPILED = """
import torch, torch._dynamo
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(x)
inner = Net()
model = torch.compile(inner, backend="aot_eager", fullgraph=True)
optimizer = torch.optim.SGD(inner.parameters(), lr=1e-3)
for _ in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.ones(4, 8)).float().sum()
    loss.backward()
    optimizer.step()
counters = torch._dynamo.utils.counters
print(sum(counters["graph_break"].values()), counters["stats"]["unique_graphs"], loss.dtype)
"""

SCRIPTED = (
    MODEL
    + """
@torch.jit.script
def scripted(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.t()
step()
print(scripted(torch.ones(2, 2)).dtype)
step()
"""
)


def test_regions_of_training_are_counted_by_type(train: Train) -> None:
    """As a block or as a decorator; not where it is off, without gradients, or entered again in backward."""
    recorded = train(REGIONS)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.counts("autocast_bfloat16") == [0, 1, 0, 0, 1, 2]
    assert recorded.counts("autocast_float16") == [0, 0, 1, 0, 0, 0]
    assert recorded.process.stdout.strip() == "False"


def test_a_script_without_regions_has_counted_none(train: Train) -> None:
    """Zero is told, so that it is not taken for unknown."""
    recorded = train(MODEL + "step(); step()")
    assert recorded.counts("autocast_bfloat16") == recorded.counts("autocast_float16") == [0, 0]


def test_compiled_regions_break_no_graph(train: Train) -> None:
    """One frame, compiled once; the region around it is counted in each step, whatever the compiler does."""
    recorded = train(COMPILED)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.process.stdout.split() == ["0", "1", "torch.float32"]
    assert [count for count in recorded.counts("compiles") if count] == [2]
    assert recorded.counts("autocast_bfloat16") == [1] * 6


def test_scripted_regions_still_compile(train: Train) -> None:
    """TorchScript reads the source of the class's methods."""
    recorded = train(SCRIPTED)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.process.stdout.strip() == "torch.bfloat16"
