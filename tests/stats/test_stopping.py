"""When a probe may stop early."""

from __future__ import annotations

import random

from ckpt_doctor.stats.stopping import MIN_PAIRS, is_clear, is_undecided


def test_few_turns_are_never_clear() -> None:
    """A slowdown that looks huge after a few turns can be a mood of the machine."""
    assert not is_clear([1.0] * (MIN_PAIRS - 1), [3.0 + i / 10 for i in range(MIN_PAIRS - 1)])


def test_a_large_steady_slowdown_is_clear() -> None:
    """Turns that all read about twice need no further ones."""
    assert is_clear([1.0] * 8, [1.9, 2.0, 2.1, 2.0, 1.95, 2.05, 2.0, 1.98])


def test_equal_turns_are_clear() -> None:
    """Turns that differ by a per cent or so are the same."""
    assert is_clear([1.0] * 8, [1.01, 0.99, 1.0, 1.005, 0.995, 1.0, 1.01, 0.99])


def test_a_small_slowdown_goes_on() -> None:
    """Between the same and clearly slower, every turn counts."""
    assert not is_clear([1.0] * 8, [1.1, 1.12, 1.08, 1.1, 1.11, 1.09, 1.1, 1.1])


def test_noise_is_rarely_taken_for_a_slowdown() -> None:
    """Looking after every turn at equal arms with a spread of 20 % stops for a slowdown almost never."""
    rng = random.Random(7)
    wrong = 0
    for _ in range(200):
        before = [rng.lognormvariate(0.0, 0.2) for _ in range(20)]
        after = [rng.lognormvariate(0.0, 0.2) for _ in range(20)]
        stops = (n for n in range(MIN_PAIRS, 21) if is_clear(before[:n], after[:n]))
        first = next(stops, None)
        if first is not None:
            wrong += sum(after[:first]) > 1.2 * sum(before[:first])
    assert wrong <= 2


def test_an_open_answer_is_worth_more_turns() -> None:
    """Turns that vary by 30 % leave both answers open; steady ones do not."""
    assert is_undecided([1.0] * 6, [0.8, 1.3, 0.9, 1.4, 0.8, 1.2])
    assert not is_undecided([1.0] * 6, [0.99, 1.01, 1.0, 1.02, 0.98, 1.0])
    assert not is_undecided([1.0] * 6, [1.5, 1.6, 1.4, 1.5, 1.55, 1.45])
    assert is_undecided([1.0], [1.0])
