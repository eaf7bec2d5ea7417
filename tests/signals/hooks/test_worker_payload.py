"""What workers are sent."""

from __future__ import annotations

import pytest

from tests.conftest import Record, Train
from tests.recorded import TRAIN
from tests.signals.hooks.test_loader import PERSISTENT

HEAVY = TRAIN.replace(
    "class Numbers(Dataset):\n",
    "class Numbers(Dataset):\n    def __init__(self):\n        self.checkpoint = bytes(3_000_000)\n\n",
)


@pytest.mark.long
def test_a_spawned_worker_is_sent_its_data_set(record: Record) -> None:
    """Its pickled size holds all that hangs on the data set; the losses are what they would be."""
    plain, heavy = (
        record(source, "--workers", "1", "--context", "spawn", "--steps", "3") for source in (TRAIN, HEAVY)
    )
    sizes = []
    for recorded in (plain, heavy):
        (event,) = recorded.events("worker_payload")
        assert event.step == 0
        assert event.duration_s is not None
        assert event.duration_s > 0
        sizes.append(event.fields["bytes"])
    assert sizes[1] - sizes[0] == pytest.approx(3_000_000, abs=1000)  # type: ignore[operator]
    assert plain.process.stdout == heavy.process.stdout


def test_a_forked_worker_is_sent_nothing(train: Train) -> None:
    """It inherits what there is."""
    assert train(PERSISTENT).events("worker_payload") == []
