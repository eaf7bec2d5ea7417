"""How much of what was loaded from a checkpoint is still in memory, beside what it was copied into."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakSet, ref

from ckpt_doctor.signals.contract import Recorder, Signal
from ckpt_doctor.signals.hooks.checkpoint_files import LOADS, PACKAGES, reads_samples

SIGNALS = (
    Signal("loaded_bytes", "bytes", "compute", "tensors and arrays that checkpoint loads have returned"),
    Signal("kept_bytes", "bytes", "compute", "those of them that are alive, and that no optimizer holds"),
    Signal("kept_device_bytes", "bytes", "compute", "the part of these that is not in the CPU's memory"),
)
NEEDS = ("torch.optim.optimizer", "torch.serialization", "safetensors.torch")

MAX_ITEMS = 100_000
"""Entries of a loaded object that are looked at."""


class _Loaded(NamedTuple):
    """One storage that a load brought, and a tensor or array by which it is held."""

    alive: Callable[[], object]
    address: int
    size_bytes: int
    on_cpu: bool


_loaded: list[_Loaded] = []
_total_bytes = [0]
_optimizers: WeakSet[Any] = WeakSet()


def install(recorder: Recorder, module: ModuleType) -> None:
    """Follow what the loading functions return by weak references; nothing is kept alive by them."""
    if module.__name__ == "torch.optim.optimizer":
        recorder.at_optimizer.append(_optimizers.add)
        recorder.describe_with(_describe)
        return
    owners = [module, *(sys.modules[p] for p in PACKAGES[module.__name__] if p in sys.modules)]
    for function in LOADS[module.__name__]:
        for owner in owners:
            if hasattr(owner, function):
                recorder.wrap(owner, function, _following(recorder))


def _following(recorder: Recorder) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def followed(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if recorder.in_training_thread() and not reads_samples(recorder):
                _remember(result)
            return result

        return followed

    return make


def _remember(loaded: object) -> None:
    found = list(_storages(loaded))
    _loaded[:] = [*(item for item in _loaded if item.alive() is not None), *found]
    _total_bytes[0] += sum({item.address: item.size_bytes for item in found}.values())


def _describe() -> dict[str, object]:
    if not _total_bytes[0]:
        return {}
    held = set(_addresses_in_use())
    kept = {item.address: item for item in _loaded if item.alive() is not None and item.address not in held}
    return {
        "memory.loaded_bytes": _total_bytes[0],
        "memory.kept_bytes": sum(item.size_bytes for item in kept.values()),
        "memory.kept_device_bytes": sum(item.size_bytes for item in kept.values() if not item.on_cpu),
    }


def _addresses_in_use() -> Iterator[int]:
    """Storages of the parameters and states that optimizers hold: a load may hand over its own tensors."""
    for optimizer in list(_optimizers):
        tensors = [p for group in optimizer.param_groups for p in group["params"]]
        for state in optimizer.state.values():
            tensors += state.values() if isinstance(state, dict) else ()
        for tensor in tensors:
            storage = _storage(tensor)
            if storage is not None:
                yield storage.address


def _storages(loaded: object) -> Iterator[_Loaded]:
    """The storages in nested dictionaries, lists and tuples; whole modules are what was asked for."""
    waiting, seen = [loaded], 0
    while waiting and seen < MAX_ITEMS:
        item = waiting.pop()
        seen += 1
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item[:MAX_ITEMS])
        else:
            storage = _storage(item)
            if storage is not None:
                yield storage


def _storage(value: Any) -> _Loaded | None:
    """The memory behind a tensor or a numpy array; None for anything else."""
    torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
    try:
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            return _Loaded(ref(value), storage.data_ptr(), storage.nbytes(), value.device.type == "cpu")
        if numpy is not None and isinstance(value, numpy.ndarray):
            return _Loaded(ref(value), value.__array_interface__["data"][0], value.nbytes, True)
    except (NotImplementedError, RuntimeError, TypeError):
        pass  # sparse and other tensors have no storage of their own to tell of
    return None
