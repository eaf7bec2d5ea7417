"""What the model is fed, where no loader tells."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL

MEMMAP = """
import torch
torch.manual_seed({seed})
model = torch.nn.Sequential(torch.nn.Embedding(50, 4), torch.nn.Flatten(), torch.nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(30):
    optimizer.zero_grad()
    for _ in range(2):
        model(torch.randint(0, 50, (3, 6))).sum().backward()
    optimizer.step()
    if step == 26:
        torch.save(model.state_dict(), "model.pt")
"""

COMPILED = (
    MODEL
    + """
import warnings
warnings.simplefilter("error")
step()
model = torch.compile(model, backend="eager")
step()
step()
"""
)


def test_the_first_input_of_each_step(train: Train) -> None:
    """For some steps after the start and after a save, the first tensor of the first call is told."""
    events = train(MEMMAP.format(seed=1)).events("model_input")
    assert [event.step for event in events] == [*range(24), 27, 28, 29]
    assert events[0].fields == {"elements": 18, "shape": [3, 6], "dtype": "int64", "device": "cpu"}


def test_a_digest_without_a_loader(train: Train) -> None:
    """The input's elements tell one order of the data from another."""
    first = train(MEMMAP.format(seed=1)).steps
    again = train(MEMMAP.format(seed="1 ")).steps
    other = train(MEMMAP.format(seed=2)).steps
    assert first.digest_source == "batches"
    assert first.digests == again.digests
    assert len({*first.digests[:24]}) == 24
    assert not set(filter(None, first.digests)) & set(filter(None, other.digests))
    assert first.digests[24:27] == (None, None, None)


def test_scripts_that_compile_are_left_alone(train: Train) -> None:
    """From torch.compile on no hook is there that dynamo would warn of."""
    recorded = train(COMPILED)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert [event.step for event in recorded.events("model_input")] == [0]
