"""Generators come back to where they were."""

from __future__ import annotations

import random

import numpy
import pytest
import torch

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.resume.plain import plain_copy
from ckpt_doctor.resume.rng import mixed_seed, rng_state, seeded, set_rng_state


def draw() -> tuple[float, float, float, float]:
    """A number from each generator; those of a normal distribution come in pairs, of which one is kept."""
    return torch.rand(()).item(), float(numpy.random.rand()), numpy.random.normal(), random.gauss(0, 1)


def test_every_generator_comes_back() -> None:
    """After restoring, each gives what it gave before, in the middle of a pair too."""
    draw()
    state = plain_copy(rng_state(), "rng")
    first = [draw() for _ in range(3)]
    reasons = set_rng_state(state)
    assert [draw() for _ in range(3)] == first
    assert set(reasons.values()) == {None}
    assert set(reasons) == {
        StateKind.TORCH_RNG, StateKind.CUDA_RNG, StateKind.NUMPY_RNG, StateKind.PYTHON_RNG,
    }  # fmt: skip


def test_another_bit_generator_of_numpy() -> None:
    """A state of another kind of generator is told of, and the others are restored."""
    state = rng_state()
    numpy_before = numpy.random.get_bit_generator()
    numpy.random.set_bit_generator(numpy.random.PCG64(1))
    try:
        why = set_rng_state(state)[StateKind.NUMPY_RNG]
        other = plain_copy(rng_state(), "rng")
        first = draw()
        set_rng_state(other)
        assert draw() == first
    finally:
        numpy.random.set_bit_generator(numpy_before)
    assert why is not None
    assert "of another kind" in why


def test_cuda_state_without_a_device() -> None:
    """Where the devices of the save are not here, that is said."""
    if torch.cuda.is_available():
        pytest.skip("this machine has a device")
    reasons = set_rng_state({StateKind.CUDA_RNG.value: [torch.zeros(16, dtype=torch.uint8)]})
    assert reasons == {StateKind.CUDA_RNG: "there is no CUDA device here"}


def test_what_is_not_kept_is_left_alone() -> None:
    """Generators that a state does not hold go on."""
    random.seed(1)
    expected = random.random()
    random.seed(1)
    assert set_rng_state({StateKind.TORCH_RNG.value: torch.get_rng_state()}) == {StateKind.TORCH_RNG: None}
    assert random.random() == expected


def test_seeded_gives_the_generators_back() -> None:
    """Within, numbers depend on the seed alone; outside, the generators go on as if nothing had been."""
    torch.manual_seed(0), numpy.random.seed(0), random.seed(0)
    expected = [draw(), draw()]
    torch.manual_seed(0), numpy.random.seed(0), random.seed(0)
    found = [draw()]
    with seeded(mixed_seed(1, 2), put_back=True):
        inner = draw()
    found.append(draw())
    assert found == expected
    with seeded(mixed_seed(1, 2), put_back=True):
        assert draw() == inner
    with seeded(mixed_seed(1, 3), put_back=True):
        assert draw() != inner


def test_mixed_seeds_differ() -> None:
    """Close numbers give seeds that are all different and fit into 63 bits."""
    seeds = {mixed_seed(a, b, c) for a in range(10) for b in range(10) for c in range(10)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 1 << 63 for seed in seeds)
