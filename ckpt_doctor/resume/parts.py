"""One way to take and to put back the state of whatever a run is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn
from torch.optim import Optimizer

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume.optimizer import restore_optimizer
from ckpt_doctor.resume.rng import plain_numpy_state

_COMPILED = "_orig_mod."


@runtime_checkable
class HasState(Protocol):
    """What torch calls Stateful: schedulers, scalers, averages, and whatever a user writes."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors, numbers, text, and containers of them."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Take such a dict back."""


def check_part(name: str, part: object) -> None:
    """Refuse what has no state to take.

    Raises:
        UsageError: It is no module, optimizer, generator, nor anything with ``state_dict``.
    """
    if not isinstance(part, (HasState, torch.Generator)) and not _is_numpy_generator(part):
        raise UsageError(
            f"{name} is a {type(part).__name__}, which has no state_dict and load_state_dict",
            hint="wrap it in a class that has both",
        )
    if isinstance(part, nn.Module) and any(
        type(module).__name__ == "FullyShardedDataParallel" for module in part.modules()
    ):
        raise UsageError(
            f"{name} is sharded by FullyShardedDataParallel (FSDP1), whose flat parameters are not supported",
            hint="shard it with torch.distributed.fsdp.fully_shard",
        )


def state_of(part: Any) -> Any:
    """The state of a module, an optimizer, a generator, or anything with ``state_dict``.

    Wrappers leave no trace in a module's names: ``DistributedDataParallel`` and ``torch.compile``
    may come or go before the state is put back.
    """
    if isinstance(part, torch.Generator):
        return {"generator": part.get_state()}
    if _is_numpy_generator(part):
        return plain_numpy_state(part.bit_generator.state)
    if not isinstance(part, nn.Module):
        return part.state_dict()
    state = unwrapped(part).state_dict()
    for name in [name for name in state if _COMPILED in name]:
        state[name.replace(_COMPILED, "")] = state.pop(name)
    return state


def put_back(part: Any, saved: Any) -> tuple[str, ...]:
    """Put a state back.

    Returns:
        What is different from what was saved, one sentence each.

    Raises:
        CheckpointError: It does not fit.
    """
    if isinstance(part, torch.Generator):
        part.set_state(saved["generator"])
    elif _is_numpy_generator(part):
        part.bit_generator.state = saved
    elif isinstance(part, Optimizer):
        return restore_optimizer(part, saved)
    elif isinstance(part, nn.Module):
        _load_module(unwrapped(part), saved)
    else:
        part.load_state_dict(saved)
    return ()


def unwrapped(module: nn.Module) -> nn.Module:
    """The module below ``torch.compile``, ``DistributedDataParallel`` and ``DataParallel``."""
    while True:
        if isinstance(module, (nn.parallel.DistributedDataParallel, nn.DataParallel)):
            module = module.module
        elif isinstance(inner := getattr(module, "_orig_mod", None), nn.Module):
            module = inner
        else:
            return module


def _load_module(module: nn.Module, saved: Mapping[str, Any]) -> None:
    """Load into the tensors that are there, so that compiled code and optimizers keep knowing them."""
    names = {name.replace(_COMPILED, ""): name for name in module.state_dict()}
    state = saved
    if any(name != plain for plain, name in names.items()):
        state = {names.get(name, name): value for name, value in saved.items()}
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        what = " ".join(str(error).split())
        raise CheckpointError(
            f"the model is not the one that was saved: {what[:400]}", hint="build the same model"
        ) from error


def _is_numpy_generator(part: object) -> bool:
    return hasattr(part, "bit_generator") and type(part).__module__.startswith("numpy.random")
