"""Updates that the gradient scaler leaves out are steps, too."""

from __future__ import annotations

from tests.conftest import Train

SCALER = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for step in range(6):
    optimizer.zero_grad()
    scaler.scale(model(torch.ones(4, 8)).sum()).backward()
    if step in (0, 2, 3):
        model.weight.grad[0, 0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
    print(scaler.get_scale())
"""


def test_skipped_updates(train: Train) -> None:
    """A skip ends its step, is counted in it, and is an event with the scale that was too large."""
    recorded = train(SCALER)
    assert recorded.process.stdout.split() == ["128.0", "128.0", "64.0", "32.0", "32.0", "32.0"]
    assert recorded.counts("optimizer_steps") == [1] * 6
    assert recorded.counts("scaler_skips") == [1, 0, 1, 1, 0, 0]
    skips = recorded.events("scaler_skip")
    assert [(skip.step, skip.fields["scale"]) for skip in skips] == [(0, 256.0), (2, 128.0), (3, 64.0)]


def test_where_the_scale_began(train: Train) -> None:
    """A new scaler begins at its default, a loaded one at the scale that was saved."""
    loading = SCALER.replace(
        "for step", "scaler.load_state_dict({**scaler.state_dict(), 'scale': 64.0})\nfor step"
    )
    for source, first in ((SCALER, 256.0), (loading, 64.0)):
        found = train(source).rank.fingerprints[-1].values
        assert found["scaler.0.first_scale"] == first
        assert found["scaler.0.scale"] == first / 8
