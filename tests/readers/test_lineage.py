"""What lies between two recordings that know nothing of each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckpt_doctor.facts.run import Event, RunRecord
from ckpt_doctor.readers.lineage import joined
from tests.builders import control, event, resumed


def _run(made: RunRecord, *events: Event) -> RunRecord:
    """A plain recording with these events."""
    (rank,) = made.ranks
    meta = replace(made.meta, arm=None, origin_step=None, checkpoint=None)
    return replace(made, meta=meta, ranks=(replace(rank, events=events),))


def _save(step: int, path: str) -> Event:
    return event("save", step, 0.01, path=path)


def _load(path: str | None, step: int = 0) -> Event:
    return event("load", step, 0.01, path=path)


@pytest.mark.parametrize(
    ("saves", "loads", "step", "checkpoint"),
    [
        ([(50, "/out/50.pt"), (100, "/out/100.pt")], ["/data/words.pt", "/out/50.pt"], 50, "/out/50.pt"),
        ([(50, "/out/last.pt"), (100, "/out/last.pt")], ["/out/last.pt"], 100, "/out/last.pt"),
        ([(50, "/out/c/model.pt"), (50, "/out/c/o.pt")], ["/out/c/model.pt", "/out/c/o.pt"], 50, "/out/c"),
        ([(50, "/out/step_5")], ["/out/step_5/0.distcp"], 50, "/out/step_5/0.distcp"),
    ],
)
def test_what_was_saved_and_loaded(
    saves: list[tuple[int, str]], loads: list[str], step: int, checkpoint: str
) -> None:
    """The last save of a path that was loaded is where the first run's steps count from."""
    before = _run(control(), *(_save(*save) for save in saves))
    after = _run(resumed(), *map(_load, loads))
    one, two = joined(before, after)
    assert (one.meta.origin_step, two.meta.origin_step) == (step, 0)
    assert one.meta.checkpoint == two.meta.checkpoint == checkpoint


def test_what_cannot_be_seen() -> None:
    """A load of something else, or of a buffer, or after the first step, joins nothing."""
    before = _run(control(), _save(50, "/out/last.pt"), event("save", 60, 0.01, path=None))
    for loads in ((), (_load("/out/last.pt.bak"),), (_load(None),), (_load("/out/last.pt", step=3),)):
        after = _run(resumed(), *loads)
        assert joined(before, after) == (before, after)


def test_what_a_probe_told_stays() -> None:
    """Where the step of the save is known it is kept."""
    before, after = control(), _run(resumed(), _load("/out/last.pt"))
    assert joined(before, after) == (before, after)
