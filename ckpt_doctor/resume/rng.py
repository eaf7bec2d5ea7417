"""Generators of random numbers: torch on CPU and CUDA, numpy, Python; and seeds that depend on a place.

Everything that is kept is a tensor, a number, a list or a dict of such, so that it can be loaded
with ``weights_only=True``.
"""

from __future__ import annotations

import hashlib
import random
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from ckpt_doctor.facts.states import StateKind

RNG_KINDS = (StateKind.TORCH_RNG, StateKind.CUDA_RNG, StateKind.NUMPY_RNG, StateKind.PYTHON_RNG)

Reasons = dict[StateKind, str | None]
"""For each kind of generator None, or why it could not be put back."""


def rng_state() -> dict[str, Any]:
    """The state of every global generator of this process, by the names of ``StateKind``.

    CUDA generators are kept of all devices, and only if CUDA was used: looking at them would
    start it. numpy's is kept if numpy is imported.
    """
    cuda = torch.cuda.get_rng_state_all() if _cuda_is_used() else []
    state: dict[str, Any] = {
        StateKind.TORCH_RNG.value: torch.get_rng_state(),
        StateKind.CUDA_RNG.value: cuda,
        StateKind.PYTHON_RNG.value: random.getstate(),
    }
    if "numpy" in sys.modules:
        state[StateKind.NUMPY_RNG.value] = plain_numpy_state(_numpy().random.get_state(legacy=False))
    return state


def set_rng_state(state: Mapping[str, Any]) -> Reasons:
    """Put generators back; those that the state does not hold are left alone.

    Returns:
        What was tried, and why it failed where it did.
    """
    reasons: Reasons = {}
    if StateKind.TORCH_RNG.value in state:
        torch.set_rng_state(state[StateKind.TORCH_RNG.value])
        reasons[StateKind.TORCH_RNG] = None
    if StateKind.CUDA_RNG.value in state:
        reasons[StateKind.CUDA_RNG] = _set_cuda(state[StateKind.CUDA_RNG.value])
    if StateKind.NUMPY_RNG.value in state:
        reasons[StateKind.NUMPY_RNG] = _set_numpy(state[StateKind.NUMPY_RNG.value])
    if StateKind.PYTHON_RNG.value in state:
        version, numbers, gauss = state[StateKind.PYTHON_RNG.value]
        random.setstate((version, tuple(numbers), gauss))
        reasons[StateKind.PYTHON_RNG] = None
    return reasons


def plain_numpy_state(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a numpy bit generator with its arrays as lists, which numpy accepts too."""
    plain: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, dict):
            plain[name] = plain_numpy_state(value)
        else:
            plain[name] = value.tolist() if hasattr(value, "tolist") else value
    return plain


def mixed_seed(*numbers: int) -> int:
    """A seed of 63 bits that depends on all numbers; close numbers give unrelated seeds."""
    digest = hashlib.blake2b(struct.pack(f"<{len(numbers)}q", *numbers), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@contextmanager
def seeded(seed: int, *, put_back: bool) -> Iterator[None]:
    """Seed the generators of torch on CPU, numpy and Python.

    Args:
        seed: Not negative, less than 2**63.
        put_back: Whether they get their own state back in the end.
    """
    before = _cpu_states() if put_back else None
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        _numpy().random.seed([seed & 0xFFFFFFFF, seed >> 32])
    try:
        yield
    finally:
        if before is not None:
            _set_cpu_states(*before)


def _cpu_states() -> tuple[torch.Tensor, Any, Any]:
    numpy_state = _numpy().random.get_state() if "numpy" in sys.modules else None
    return torch.get_rng_state(), random.getstate(), numpy_state


def _set_cpu_states(torch_state: torch.Tensor, python_state: Any, numpy_state: Any) -> None:
    torch.set_rng_state(torch_state)
    random.setstate(python_state)
    if numpy_state is not None:
        _numpy().random.set_state(numpy_state)


def _cuda_is_used() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def _set_cuda(states: list[torch.Tensor]) -> str | None:
    if not states:
        return "no CUDA device was in use at the save" if _cuda_is_used() else None
    if not torch.cuda.is_available():
        return "there is no CUDA device here"
    here = torch.cuda.device_count()
    for device, state in enumerate(states[:here]):
        torch.cuda.set_rng_state(state, device)
    return None if len(states) <= here else f"saved for {len(states)} devices, {here} are here"


def _set_numpy(state: dict[str, Any]) -> str | None:
    try:
        _numpy().random.set_state(state)
    except ImportError:
        return "numpy is not installed here"
    except ValueError as error:
        return f"numpy's global generator is of another kind here: {error}"
    return None


def _numpy() -> Any:
    import numpy

    return numpy
