"""What differs between two fingerprints."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.facts.run import Fingerprint, RankRecord
from ckpt_doctor.stats.fingerprints import compare_fingerprints, prefetched_batches, training_loader
from tests.builders import event, make_run


def _rank(*prints: tuple[int, dict[str, object]], events: tuple[object, ...] = ()) -> RankRecord:
    rank = make_run([1.0] * 100, events=events).ranks[0]  # type: ignore[arg-type]
    return replace(rank, fingerprints=tuple(Fingerprint(step, values) for step, values in prints))


def _keys(before: RankRecord, after: RankRecord) -> dict[str, tuple[object, object]]:
    changes = compare_fingerprints(before, (10, 100), after, (10, 100))
    return {c.key: (c.before, c.after) for c in changes}


def test_a_setting_that_is_switched_off_within_the_window_is_seen_at_its_start() -> None:
    """Equal at the end is not equal all along."""
    before = _rank((3, {"autograd.anomaly": False}), (100, {"autograd.anomaly": False}))
    after = _rank((3, {"autograd.anomaly": True}), (100, {"autograd.anomaly": False}))
    assert _keys(before, after) == {"autograd.anomaly": (False, True)}


def test_a_setting_that_is_switched_on_later_is_seen_at_the_end() -> None:
    """Equal at the start is not equal all along."""
    before = _rank((3, {"threads.intra_op": 2}), (100, {"threads.intra_op": 2}))
    after = _rank((3, {"threads.intra_op": 2}), (100, {"threads.intra_op": 1}))
    assert _keys(before, after) == {"threads.intra_op": (2, 1)}


def test_what_just_comes_later_is_no_change() -> None:
    """A validation loader that the resumed run has not used at its start is no difference."""
    before = _rank((3, {"loader.1.batch_size": 8, "a": 1}), (100, {"loader.1.batch_size": 8, "a": 1}))
    after = _rank((3, {"a": 1}), (100, {"loader.1.batch_size": 8, "a": 1}))
    assert _keys(before, after) == {}


def test_training_loaders_are_compared_with_each_other_whatever_their_numbers() -> None:
    """A resumed run that validates first numbers its loaders the other way round."""
    before = _rank(
        (100, {"loader.0.num_workers": 4, "loader.1.num_workers": 0}),
        events=(event("loader", 0, loader=0, dataset="Train", dataset_len=100),),
    )
    after = _rank(
        (100, {"loader.0.num_workers": 0, "loader.1.num_workers": 4}),
        events=(
            event("loader", 0, loader=0, dataset="Val", dataset_len=10),
            event("loader", 0, loader=1, dataset="Train", dataset_len=100),
        ),
    )
    assert _keys(before, after) == {}


def test_a_loader_that_was_built_anew_is_compared_with_the_one_it_replaced() -> None:
    """What the newest loader of the same data set has in another way is told; its number is no difference."""
    data = {"dataset": "Train", "dataset_len": 100}
    uses = [event("loader", step, loader=number, **data) for step, number in ((0, 0), (60, 7), (90, 9))]
    before = _rank((100, _loader(0, **data, batch_size=32, timeout=0)), events=(uses[0],))
    after = _rank((100, _loader(9, **data, batch_size=128, timeout=0)), events=tuple(uses))
    assert _keys(before, after) == {"loader.0.batch_size": (32, 128)}


def _loader(number: int, **arguments: object) -> dict[str, object]:
    return {f"loader.{number}.{name}": value for name, value in arguments.items()}


def test_the_training_loader_is_the_one_iterated_last_before_the_first_step() -> None:
    """A sanity validation comes before the training."""
    rank = _rank(
        events=(
            event("loader", 0, loader=0),
            event("loader", 0, loader=1),
            event("first_batch", 0, 0.1, loader=0),
            event("first_batch", 0, 0.1, loader=1),
            event("first_batch", 50, 0.1, loader=0),
        )
    )
    assert training_loader(rank) == "1"
    assert training_loader(_rank()) is None


def test_prefetched_batches_are_workers_times_factor() -> None:
    """Two workers with torch's own factor hold four batches; no worker holds none."""
    assert prefetched_batches(_rank(events=(event("loader", 0, loader=0, num_workers=2),))) == 4
    assert prefetched_batches(_rank(events=(event("loader", 0, loader=0, num_workers=0),))) == 0


def test_without_fingerprints_nothing_is_said() -> None:
    """A missing fingerprint is not a difference in everything."""
    assert _keys(_rank(), _rank((3, {"a": 1}))) == {}


def test_sizes_that_are_measured_are_no_settings() -> None:
    """Any two processes differ in them."""
    sides = [{"memory.rss_bytes": size, "memory.python_blocks": size, "a": 1} for size in (10, 20)]
    before, after = (_rank((3, side), (100, side)) for side in sides)  # type: ignore[arg-type]
    assert _keys(before, after) == {}
