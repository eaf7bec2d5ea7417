"""Settings and sizes of the training process, to be set side by side after a resume."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (Signal("fingerprint", "event", "compute", "versions, threads, backend flags, model, optimizers"),)
NEEDS = ("torch.optim.optimizer",)

ENVIRONMENT_PREFIXES = (
    "OMP_",
    "MKL_",
    "OPENBLAS_NUM",
    "MALLOC_",
    "TORCH",
    "PYTORCH_",
    "CUDA_",
    "CUBLAS_",
    "NCCL_",
)
ENVIRONMENT_NAMES = ("LD_PRELOAD", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "PYTHONHASHSEED", "WORLD_SIZE")
FLAGS = ("foreach", "fused", "capturable", "amsgrad", "differentiable", "maximize")


def install(recorder: Recorder, module: ModuleType) -> None:
    """Remember each optimizer as it steps, and describe it when asked."""
    torch = module.torch
    numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    following = itertools.count()

    def remember(optimizer: Any, args: Any, kwargs: Any) -> None:
        if optimizer not in numbers:
            numbers[optimizer] = next(following)

    remember._torchdynamo_disable = True  # type: ignore[attr-defined]

    def describe() -> dict[str, object]:
        values = _settings(torch)
        for optimizer, number in list(numbers.items()):
            values.update(_optimizer(torch, f"optimizer.{number}", optimizer))
        values.update(_parameters(list(numbers)))
        return values

    module.register_optimizer_step_pre_hook(remember)
    recorder.describe_with(describe)


def _settings(torch: Any) -> dict[str, object]:
    values: dict[str, object] = {
        "versions.python": sys.version.split()[0],
        "versions.torch": torch.__version__,
        "versions.cuda": torch.version.cuda,
        "threads.intra_op": torch.get_num_threads(),
        "backend.deterministic": torch.are_deterministic_algorithms_enabled(),
        "backend.matmul_precision": torch.get_float32_matmul_precision(),
        "backend.cudnn_benchmark": torch.backends.cudnn.benchmark,
        "backend.cudnn_deterministic": torch.backends.cudnn.deterministic,
        "autograd.anomaly": torch.is_anomaly_enabled(),
        "autograd.grad_enabled": torch.is_grad_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }
    values["cpus.online"] = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):
        values["cpus.allowed"] = len(os.sched_getaffinity(0))
    for name, value in os.environ.items():
        if (name.startswith(ENVIRONMENT_PREFIXES) or name in ENVIRONMENT_NAMES) and len(value) < 200:
            values[f"env.{name}"] = value
    return values


def _optimizer(torch: Any, prefix: str, optimizer: Any) -> dict[str, object]:
    values: dict[str, object] = {
        f"{prefix}.class": type(optimizer).__name__,
        f"{prefix}.groups": len(optimizer.param_groups),
        f"{prefix}.parameters": sum(len(group["params"]) for group in optimizer.param_groups),
        f"{prefix}.state_entries": len(optimizer.state),
    }
    for number, group in enumerate(optimizer.param_groups[:8]):
        for flag in FLAGS:
            if flag in group:
                values[f"{prefix}.group.{number}.{flag}"] = group[flag]
    values.update(_state(torch, prefix, optimizer))
    return values


def _state(torch: Any, prefix: str, optimizer: Any) -> dict[str, object]:
    """Sizes of the per-parameter state, by dtype and device; zero-dimensional tensors apart."""
    dtypes: Counter[str] = Counter()
    devices: Counter[str] = Counter()
    scalar_devices: Counter[str] = Counter()
    elements = 0
    for state in optimizer.state.values():
        for value in state.values() if isinstance(state, dict) else ():
            if not isinstance(value, torch.Tensor):
                continue
            if value.ndim == 0:
                scalar_devices[value.device.type] += 1
                continue
            elements += value.numel()
            dtypes[str(value.dtype).removeprefix("torch.")] += value.numel() * value.element_size()
            devices[value.device.type] += value.numel() * value.element_size()
    return {
        f"{prefix}.state_elements": elements,
        f"{prefix}.state_bytes": sum(dtypes.values()),
        f"{prefix}.state_dtypes": _listed(dtypes),
        f"{prefix}.state_devices": _listed(devices),
        f"{prefix}.step_devices": _listed(scalar_devices),
    }


def _parameters(optimizers: list[Any]) -> dict[str, object]:
    """The parameters that the optimizers train, each counted once."""
    parameters = {id(p): p for o in optimizers for group in o.param_groups for p in group["params"]}
    dtypes: Counter[str] = Counter()
    devices: Counter[str] = Counter()
    with_gradient = 0
    for parameter in parameters.values():
        dtypes[str(parameter.dtype).removeprefix("torch.")] += parameter.numel()
        devices[parameter.device.type] += parameter.numel()
        with_gradient += parameter.requires_grad
    return {
        "model.trainable_parameters": with_gradient,
        "model.trainable_elements": sum(dtypes.values()),
        "model.dtypes": _listed(dtypes),
        "model.devices": _listed(devices),
    }


def _listed(counts: Counter[str]) -> str:
    return ",".join(f"{name}:{count}" for name, count in sorted(counts.items()))
