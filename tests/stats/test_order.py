"""Whether the data came in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.facts.comparison import OrderCheck
from ckpt_doctor.stats.order import check_order
from tests.builders import make_run


def _check(
    before: Sequence[str | None],
    after: Sequence[str | None],
    origin: int,
    kinds: tuple[str, str] = ("indices", "indices"),
) -> OrderCheck:
    runs = [
        make_run([1.0] * len(told), digests=told, digest_source=kind, counters=_counters(told)).ranks[0]
        for told, kind in zip((before, after), kinds, strict=True)
    ]
    return check_order(runs[0], origin, runs[1], 0, replaced=False)


def _counters(digests: Sequence[str | None]) -> dict[str, list[float]]:
    """A digest a batch, and a backward pass in each step."""
    batches = [float(len((text or "").split())) for text in digests]
    return {"batches": batches, "backwards": [1.0] * len(batches)}


CONTROL = [f"{i:04d}" for i in range(50)]


def test_the_control_s_own_data_are_an_order_restored() -> None:
    """Equal digests at the same relative steps are the proof."""
    order = _check(CONTROL, CONTROL[20:40], 20)
    assert order.restored is True
    assert order.compared_steps == 19


def test_data_that_begin_anew_are_found_at_the_start_of_the_control() -> None:
    """Offset 0 says that the resumed run sees again what it has seen."""
    order = _check(CONTROL, CONTROL[:20], 20)
    assert (order.restored, order.first_difference, order.offset) == (False, 1, 0)


def test_another_shuffle_is_found_nowhere() -> None:
    """Digests that the control never had are no known offset."""
    order = _check(CONTROL, [f"x{i}" for i in range(20)], 20)
    assert order.restored is False
    assert order.offset is None


def test_an_order_that_breaks_later_names_the_step() -> None:
    """The rest of the epoch right and the next one wrong is not restored."""
    order = _check(CONTROL, [*CONTROL[20:30], *[f"x{i}" for i in range(10)]], 20)
    assert (order.restored, order.first_difference) == (False, 10)


def test_unknown_digests_are_no_difference() -> None:
    """Steps without a digest are not compared, and two are too few."""
    assert _check(CONTROL, [None, *CONTROL[21:30]], 20).restored is True
    assert _check(CONTROL, [None, None, *CONTROL[22:24]], 20).restored is None


def test_a_loader_that_fetches_ahead_draws_two_batches_in_its_first_step() -> None:
    """What counts is the order of the batches, not the step in which they were drawn."""
    resumed = [f"{CONTROL[19]} {CONTROL[20]}", *CONTROL[21:40]]
    assert _check(CONTROL, resumed, 20).restored is True


def test_batches_dropped_in_the_first_step_are_no_other_order() -> None:
    """A replay draws everything again in its first step and goes on at the right place."""
    resumed = [" ".join(CONTROL[5:21]), *CONTROL[21:40]]
    assert _check(CONTROL, resumed, 20).restored is True


def test_micro_batches_are_compared_one_by_one() -> None:
    """A step may be fed by several batches, and each of them counts."""
    control = [f"a{i} b{i}" for i in range(30)]
    assert _check(control, control[20:], 20).restored is True
    swapped = [f"b{i} a{i}" for i in range(20, 30)]
    assert _check(control, swapped, 20).restored is False


def test_batches_that_are_evaluated_on_are_no_other_order() -> None:
    """The resumed run evaluates every fifth step, the control never; both train on the same."""
    resumed = [f"v1 v2 v3 {text}" if i % 5 == 2 else text for i, text in enumerate(CONTROL[20:40])]
    order = _check(CONTROL, resumed, 20)
    assert (order.restored, order.compared_steps) == (True, 15)
    other = [f"v1 v2 v3 x{i}" if i % 5 == 2 else f"x{i}" for i in range(20)]
    assert _check(CONTROL, other, 20).restored is False


def test_runs_that_evaluate_in_every_step_are_compared_whole() -> None:
    """Nothing says which of a step's batches were trained on, and both drew the same."""
    evaluated = [f"v1 {text}" for text in CONTROL]
    assert _check(evaluated, evaluated[20:40], 20).restored is True


def test_indices_and_batches_are_not_compared_with_each_other() -> None:
    """Hashes of different things say nothing."""
    assert _check(CONTROL, CONTROL[20:40], 20, ("indices", "batches")).restored is None


def test_steps_before_the_save_are_no_control_for_the_order() -> None:
    """Where other steps stand in for the control, their data differ by nature."""
    run = make_run([1.0] * 50, digests=CONTROL).ranks[0]
    assert check_order(run, 0, run, 0, replaced=True).restored is None
