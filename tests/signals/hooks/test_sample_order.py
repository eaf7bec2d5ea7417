"""Which samples fed each step."""

from __future__ import annotations

import zlib
from array import array

import pytest

from tests.conftest import Record, Train
from tests.recorded import TRAIN, Recorded
from tests.signals.hooks.test_data_wait import LOOP

SHUFFLED = (
    LOOP
    + """
torch.manual_seed({seed})
loader = DataLoader(Numbers(), 4, shuffle=True, num_workers={workers}, persistent_workers={persist})
for epoch in range(2):
    for number, (x, indices) in enumerate(loader):
        update(x)
        print(*indices.tolist())
        if epoch == 0 and number == 3:
            break
"""
)

STREAM = (
    LOOP
    + """
class Stream(IterableDataset):
    def __iter__(self):
        for index in range({first}, {first} + 24):
            yield torch.full((8,), float(index))
for x in DataLoader(Stream(), batch_size=4, num_workers={workers}):
    update(x)
"""
)

KINDS = (
    LOOP
    + """
whole = torch.arange({first}, {first} + 6000.0)
freed = torch.ones(100)
freed.untyped_storage().resize_(0)
kinds = [
    whole[:3],
    whole[3:].bfloat16(),
    dict(text="no tensor", nested=[(whole.reshape(60, 100) + 1,)]),
    whole[:12].reshape(3, 4).t(),
    whole.reshape(2, 3, 10, 100).to(memory_format=torch.channels_last),
    whole.reshape(60, 100).t(),
    torch.nn.Parameter(whole + 2),
    whole[:0],
    whole[:12].reshape(3, 4).to_sparse(),
    freed,
    "no tensor",
]
class Stream(IterableDataset):
    def __iter__(self):
        return iter(kinds)
for x in DataLoader(Stream(), batch_size=None, collate_fn=lambda batch: batch):
    update(torch.ones(1, 8))
"""
)

REPLAY = (
    LOOP
    + """
loader = DataLoader(Numbers(), batch_size=1)
for _ in range(3):
    for x, _ in loader:
        pass
update(x)
for x, _ in DataLoader([("a", "b")], batch_size=1):
    update(torch.ones(1, 8))
update(torch.ones(1, 8))
"""
)

ODD = (
    LOOP
    + """
class Reusing:
    def __iter__(self):
        batch = []
        for first in (0, 4, 8):
            batch[:] = range(first, first + 4)
            yield batch
class Keyed(torch.utils.data.Dataset):
    def __getitem__(self, key):
        return torch.ones(8)
for x, indices in DataLoader(Numbers(), batch_sampler=Reusing()):
    update(x)
    print(*indices.tolist())
for x in DataLoader(Keyed(), batch_size=None, sampler=[1, 2]):
    update(x[None])
for x in DataLoader(Keyed(), batch_size=1, sampler=["a", 2**70, (1, 2), {{"a": 1}}]):
    update(x)
"""
)

STATEFUL = (
    LOOP
    + """
from torchdata.stateful_dataloader import StatefulDataLoader
def loader():
    torch.manual_seed(3)
    return StatefulDataLoader(Numbers(), batch_size=4, shuffle=True, num_workers={workers})
first = loader()
for number, (x, _) in enumerate(first):
    update(x)
    if number == 2:
        state = first.state_dict()
resumed = loader()
resumed.load_state_dict(state)
for x, _ in resumed:
    update(x)
"""
)


def digests(recorded: Recorded) -> list[str | None]:
    """What fed each step; all of it must have been told."""
    assert recorded.process.returncode == 0, recorded.process.stderr
    return list(recorded.steps.digests)


def expected(recorded: Recorded) -> list[str]:
    """The digests of the indices that a script has printed, a line a batch."""
    batches = [[int(word) for word in line.split()] for line in recorded.process.stdout.splitlines()]
    return [f"{zlib.crc32(array('q', indices).tobytes()):08x}" for indices in batches]


def shuffled(train: Train, seed: int = 0, workers: int = 0, persist: bool = False) -> Recorded:
    """Two epochs, the first of them broken off after four batches."""
    return train(SHUFFLED.format(seed=seed, workers=workers, persist=persist))


def test_a_digest_stands_for_the_indices(train: Train) -> None:
    """The digest of a step is the CRC-32 of the sample indices that it was fed, as 64-bit numbers."""
    recorded = shuffled(train)
    assert recorded.steps.digest_source == "indices"
    assert digests(recorded) == expected(recorded)


def test_indices_that_are_no_list_of_numbers(train: Train) -> None:
    """A sampler may go on with its own list, and draw numbers without end, names or anything else."""
    recorded = train(ODD.format())
    found = digests(recorded)
    assert found[:3] == expected(recorded)
    assert len(found) == len(set(found)) == 9
    assert all(found)


def test_the_same_seed_gives_the_same_digests(record: Record) -> None:
    """In an epoch after the same seed, runs with and without workers are fed alike."""
    alone, workers = record(TRAIN), record(TRAIN, "--workers", "2", "--context", "fork")
    assert alone.steps.digest_source == workers.steps.digest_source == "indices"
    assert digests(alone)[:6] == digests(workers)[:6]
    assert len(set(digests(alone))) == len(digests(alone)) == 14


def test_another_seed_gives_other_digests(train: Train) -> None:
    """The digests tell a different order, sample by sample."""
    assert not set(digests(shuffled(train))) & set(digests(shuffled(train, seed=1)))
    assert digests(shuffled(train)) == digests(train(SHUFFLED.format(seed="0 ", workers=0, persist=False)))


@pytest.mark.parametrize("persist", [False, True])
def test_batches_that_workers_had_ready(train: Train, persist: bool) -> None:
    """Breaking off an epoch drops what was drawn ahead: the next epoch's digests fit its own batches."""
    recorded = shuffled(train, workers=2, persist=persist)
    assert len(digests(recorded)) == 10
    assert digests(recorded) == expected(recorded)


@pytest.mark.parametrize("workers", [0, 1])
def test_streams(train: Train, workers: int) -> None:
    """Iterable data sets have no indices: the batch itself is hashed."""
    recorded = train(STREAM.format(first=0, workers=workers))
    assert recorded.steps.digest_source == "batches"
    assert len(set(digests(recorded))) == 6
    assert digests(recorded) == digests(train(STREAM.format(first=0, workers=1 - workers)))
    shifted = digests(train(STREAM.format(first=4, workers=0)))
    assert shifted[:5] == digests(recorded)[1:]


def test_batches_of_all_kinds(train: Train) -> None:
    """A batch is told by what it holds however it lies in memory; what holds nothing is not told."""
    found, other = digests(train(KINDS.format(first=0))), digests(train(KINDS.format(first=1)))
    assert found == digests(train(KINDS.format(first="0 ")))
    assert found[7:] == other[7:] == [None] * 4
    assert len({*found[:7], *other[:7]} - {None}) == 14


def test_many_batches_in_one_step(train: Train) -> None:
    """A step that draws thousands keeps the last digests; steps without a batch have none."""
    recorded = train(REPLAY)
    first, second, third = digests(recorded)
    assert first is not None
    assert len(first.split()) == 16
    assert second is not None
    assert third is None
    assert recorded.counts("batches")[0] == 72


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loaders(train: Train, workers: int) -> None:
    """A StatefulDataLoader that was put back gives the batches that were still to come."""
    pytest.importorskip("torchdata")
    recorded = train(STATEFUL.format(workers=workers))
    assert len(recorded.steps) == 9
    assert recorded.steps.digest_source == "indices"
    assert recorded.counts("batches") == [1] * 9
    assert digests(recorded)[6:] == digests(recorded)[3:6]
