"""Which loaders there are, and when they start workers."""

from __future__ import annotations

import pytest

from tests.conftest import Train
from tests.recorded import check_parts
from tests.signals.hooks.test_data_wait import LOOP
from tests.signals.hooks.test_sample_order import STATEFUL

TWO = (
    LOOP
    + """
def collate(samples):
    return torch.stack([x for x, _ in samples])
main = DataLoader(Numbers(), batch_size=4, num_workers=2, collate_fn=collate, multiprocessing_context="fork")
side = DataLoader(Numbers(), batch_size=12, sampler=list(range(24)), drop_last=True)
for epoch in range(2):
    for x in main:
        update(x)
    for x, _ in side:
        update(x)
"""
)

PERSISTENT = (
    LOOP
    + """
loader = DataLoader(Numbers(), batch_size=8, num_workers=1, persistent_workers=True, prefetch_factor=3)
for epoch in range(3):
    for x, _ in loader:
        update(x)
"""
)


def test_worker_starts(train: Train) -> None:
    """Workers that are started every epoch are counted in the step that waits for them."""
    recorded = train(TWO)
    starts = recorded.events("worker_start")
    assert [(event.step, event.fields["loader"], event.fields["workers"]) for event in starts] == [
        (0, 0, 2),
        (8, 0, 2),
    ]
    assert recorded.counts("worker_starts") == [2, *[0] * 7, 2, *[0] * 7]
    for event in starts:
        assert event.duration_s
        assert event.duration_s > 0
        assert str(event.fields["file"]).endswith("train.py")
    assert recorded.steps.parts["data_wait"][8] >= (starts[1].duration_s or 0)
    check_parts(recorded.steps)


def test_persistent_workers(train: Train) -> None:
    """Workers that stay are started once."""
    recorded = train(PERSISTENT)
    assert len(recorded.events("worker_start")) == 1
    assert sum(filter(None, recorded.counts("worker_starts"))) == 1


def test_loaders_introduce_themselves(train: Train) -> None:
    """Each loader is told once, with its arguments, the line that built it and the one that iterates it."""
    main, side = train(TWO).events("loader")
    assert main.fields["loader"] == 0
    assert main.fields == {
        **main.fields,
        "kind": "DataLoader",
        "batch_size": 4,
        "num_workers": 2,
        "context": "fork",
        "dataset": "Numbers",
        "dataset_len": 24,
        "collate_fn": "collate",
        "sampler": "SequentialSampler",
    }
    assert side.fields == {**side.fields, "loader": 1, "drop_last": True, "num_workers": 0, "sampler": "list"}
    lines = TWO.splitlines()
    assert lines[int(str(main.fields["line"])) - 1] == "    for x in main:"
    assert lines[int(str(side.fields["line"])) - 1] == "    for x, _ in side:"
    assert lines[int(str(main.fields["built_line"])) - 1].startswith("main = DataLoader(")
    assert lines[int(str(side.fields["built_line"])) - 1].startswith("side = DataLoader(")
    assert main.fields["built_file"] == main.fields["file"]


def test_arguments_in_the_fingerprint(train: Train) -> None:
    """Loaders that are alive stand in the fingerprint."""
    values = train(PERSISTENT).rank.fingerprints[-1].values
    assert values["loader.0.persistent_workers"] is True
    assert values["loader.0.prefetch_factor"] == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loaders(train: Train, workers: int) -> None:
    """A StatefulDataLoader is told apart, and its workers are counted as well."""
    pytest.importorskip("torchdata")
    recorded = train(STATEFUL.format(workers=workers))
    loaders = recorded.events("loader")
    assert [event.fields["kind"] for event in loaders] == ["StatefulDataLoader"] * 2
    assert [event.fields["loader"] for event in loaders] == [0, 1]
    assert all(event.fields["built_line"] for event in loaders)
    assert [event.fields["workers"] for event in recorded.events("worker_start")] == [2, 2][: workers and 2]
    assert recorded.rank.fingerprints[-1].values["loader.0.num_workers"] == workers
    check_parts(recorded.steps)
