"""Snapshots of a stateful loader."""

from __future__ import annotations

import pytest

from ckpt_doctor.signals.hooks.loader_snapshot import SAMPLED, size_bytes
from tests.conftest import Train
from tests.recorded import MODEL, check_parts

STATEFUL = (
    MODEL
    + """
from torch.utils.data import IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader
class Numbers(IterableDataset):
    seen = []
    def __iter__(self):
        for number in range(24):
            self.seen = self.seen + ["x" * 10_000]
            yield float(number)
    def state_dict(self):
        return {{"seen": self.seen}}
    def load_state_dict(self, state):
        self.seen = state["seen"]
loader = StatefulDataLoader(
    Numbers(), batch_size=4, num_workers={workers}, multiprocessing_context={context},
    snapshot_every_n_steps={every},
)
for x in loader:
    step()
{after}
step()
"""
)


def _source(*, workers: int, every: int = 1, after: str = "") -> str:
    context = "'fork'" if workers else None
    return STATEFUL.format(workers=workers, every=every, after=after, context=context)


def test_a_snapshot_with_every_batch(train: Train) -> None:
    """Workers bring their state with each batch; what is kept of them has a size that grows."""
    pytest.importorskip("torchdata")
    recorded = train(_source(workers=1))
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.counts("snapshots")[:6] == [1] * 6
    assert all((seconds or 0) > 0 for seconds in recorded.counts("snapshot_s")[:6])
    sizes = [f.values["memory.snapshot_bytes"] for f in recorded.rank.fingerprints]
    assert 100_000 < sizes[0] < sizes[-1] < 400_000  # type: ignore[operator]
    check_parts(recorded.steps)


def test_fewer_snapshots(train: Train) -> None:
    """One in three batches."""
    pytest.importorskip("torchdata")
    assert sum(n or 0 for n in train(_source(workers=1, every=3)).counts("snapshots")) == 2


def test_a_state_that_the_script_asks_for(train: Train) -> None:
    """Without workers there is a snapshot only when it is asked for; its time is data wait."""
    pytest.importorskip("torchdata")
    recorded = train(_source(workers=0, after="loader.state_dict()"))
    assert recorded.counts("snapshots") == [0] * 6 + [1]
    spent_s = recorded.counts("snapshot_s")[6]
    assert spent_s is not None
    assert recorded.steps.parts["data_wait"][6] >= spent_s * 0.9
    assert "memory.snapshot_bytes" not in recorded.rank.fingerprints[-1].values


@pytest.mark.parametrize(
    ("state", "size"),
    [
        (None, 8),
        ({"a": 1, "b": [2.0, "four"]}, 20),
        ([[1] * 100] * 1000, 800_000),
        ({"a": b"12345", "b": ()}, 5),
        (["x"] * (2 * SAMPLED), 2 * SAMPLED),
    ],
)
def test_the_size_of_a_state(state: object, size: int) -> None:
    """Numbers take eight bytes, text and bytes their length; of long lists a part stands for the whole."""
    assert size_bytes(state) == size
