"""Time in the loader, and how much each batch brings."""

from __future__ import annotations

import pytest

from tests.conftest import Train
from tests.recorded import check_parts

LOOP = """
import torch, sys, collections
from torch.utils.data import DataLoader, Dataset, IterableDataset

class Numbers(Dataset):
    def __init__(self, work=0):
        self.work = work
    def __len__(self):
        return 24
    def __getitem__(self, index):
        for _ in range(self.work):
            sum(range(1000))
        return torch.full((8,), float(index)), index

torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
def update(x):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""

SLOW = (
    LOOP
    + """
for x, _ in DataLoader(Numbers(work=100), batch_size=4):
    update(x)
"""
)

WORKERS = (
    LOOP
    + """
loader = DataLoader(Numbers(), batch_size=4, num_workers=2)
for epoch in range(2):
    for x, _ in loader:
        update(x)
"""
)

FAST_FORWARD = (
    LOOP
    + """
loader = iter(DataLoader(Numbers(), batch_size=4))
for _ in range(3):
    next(loader)
for x, _ in loader:
    update(x)
"""
)

SHAPES = (
    LOOP
    + """
Pair = collections.namedtuple("Pair", "a b")
batches = [
    torch.ones(2, 8),
    {"x": torch.ones(3, 8), "y": [torch.ones(3), torch.tensor(1.0)]},
    Pair(torch.ones(5, 2), ("text", 3)),
    "no tensor",
    [[torch.ones(4)] * 200],
]
for batch in DataLoader(batches, batch_size=None):
    update(torch.ones(1, 8))
"""
)

UNREADABLE = (
    LOOP
    + """
class Sealed(dict):
    def values(self):
        raise PermissionError("sealed")
for _ in DataLoader([Sealed(x=1), torch.ones(2, 8)], batch_size=None, collate_fn=lambda batch: batch):
    update(torch.ones(1, 8))
"""
)

EPOCH = (
    LOOP
    + """
update(torch.ones(1, 8))
for _ in DataLoader(range(9000), batch_size=None):
    pass
update(torch.ones(1, 8))
"""
)

THREAD = (
    LOOP
    + """
import queue, threading
fetched = queue.Queue(maxsize=2)
def fetch():
    for x, _ in DataLoader(Numbers(work=20), batch_size=4):
        fetched.put(x)
update(torch.ones(1, 8))
threading.Thread(target=fetch).start()
for _ in range(6):
    update(fetched.get())
"""
)


def test_a_slow_data_set(train: Train) -> None:
    """Work in __getitem__ is data wait, and next to nothing else in such a run."""
    recorded = train(SLOW)
    assert recorded.counts("batches") == [1] * 6
    assert recorded.counts("samples") == [4] * 6
    assert recorded.counts("elements") == [4 * 8 + 4] * 6
    wait_s = sum(recorded.steps.parts["data_wait"][1:])
    assert wait_s > 0.5 * sum(recorded.steps.step_s(index) for index in range(1, 6))
    check_parts(recorded.steps)


def test_the_time_after_a_batch_is_forward(train: Train) -> None:
    """From the batch to backward the model runs forward; without a loader that cannot be told."""
    assert min(train(SLOW).steps.parts["forward"]) > 0
    assert sum(train(THREAD).steps.parts["forward"]) == 0


def test_first_batches(train: Train) -> None:
    """Each iteration has a first batch, with its latency and the number of workers."""
    recorded = train(WORKERS)
    first = recorded.events("first_batch")
    assert [event.step for event in first] == [0, 6]
    assert [event.fields["workers"] for event in first] == [2, 2]
    assert all(event.duration_s and event.duration_s > 0 for event in first)
    assert recorded.counts("batches") == [1] * 12
    check_parts(recorded.steps)


def test_batches_drawn_before_the_first_step(train: Train) -> None:
    """A fast-forward through the loader shows in the first step."""
    assert train(FAST_FORWARD).counts("batches") == [4, 1, 1]


def test_batches_of_any_shape(train: Train) -> None:
    """Tensors are found in mappings, tuples and lists, up to a limit."""
    recorded = train(SHAPES)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.counts("elements") == [16, 24 + 3 + 1, 10, 0, 4 * 64]
    assert recorded.counts("samples") == [2, 3, 5, 0, 4]


def test_a_batch_that_does_not_answer(train: Train) -> None:
    """What raises when it is looked at reaches the script as it is, and counts as one batch of nothing."""
    recorded = train(UNREADABLE)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.counts("batches") == [1, 1]
    assert recorded.counts("elements") == [0, 16]
    check_parts(recorded.steps)


def test_an_epoch_within_a_step(train: Train) -> None:
    """Thousands of batches in one step are written down on the way, and none is lost."""
    recorded = train(EPOCH)
    assert recorded.counts("batches") == [0, 9000]
    check_parts(recorded.steps)


def test_an_epoch_before_the_first_step(train: Train) -> None:
    """It is all told, though there is no journal yet."""
    recorded = train(EPOCH.replace("update(torch.ones(1, 8))", "", 1))
    assert recorded.counts("batches") == [9000]
    assert recorded.steps.t_start_s[0] == pytest.approx(recorded.rank.started_s)
    check_parts(recorded.steps)


def test_no_end_of_batches_before_the_first_step(train: Train) -> None:
    """A process that draws them without end keeps what it drew last, and says so."""
    few = "import ckpt_doctor.agent.core as core\ncore.MOST_EARLY = 1\n"
    recorded = train(few + EPOCH.replace("update(torch.ones(1, 8))", "", 1).replace("9000", "13000"))
    assert recorded.counts("batches") == [13000 - 8192]
    assert recorded.steps.t_start_s[0] > recorded.rank.started_s
    assert "first_step" in recorded.rank.not_measured
    check_parts(recorded.steps)


def test_a_loader_in_a_thread(train: Train) -> None:
    """What a prefetching thread waits for is not the step's own waiting."""
    recorded = train(THREAD)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert sum(recorded.steps.parts["data_wait"]) == 0
    assert len(recorded.steps) == 7
    check_parts(recorded.steps)


@pytest.mark.parametrize("ending", ["raise KeyError(index)", "raise StopIteration"])
def test_a_data_set_that_fails(train: Train, ending: str) -> None:
    """An exception in the loader reaches the script, and the clock goes on outside the loader."""
    source = LOOP.replace(
        "        for _ in range(self.work):", f"        if index == 5: {ending}\n        for _ in ():"
    )
    recorded = train(
        source + "try:\n    for x, _ in DataLoader(Numbers(), batch_size=1): update(x)\n"
        "except KeyError as error: print('failed', error)\n"
        "for _ in range(50000): pass\n"
        "update(torch.ones(1, 8))\n"
    )
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert len(recorded.steps) == 6
    assert recorded.steps.parts["rest"][-1] > recorded.steps.parts["data_wait"][-1]
    check_parts(recorded.steps)
