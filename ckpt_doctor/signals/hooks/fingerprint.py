"""Settings and sizes of the training process, to be set side by side after a resume."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from ckpt_doctor.signals import modules
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
MATMUL_BACKENDS = ("cuda", "mkldnn")
MONITORING_TOOLS = 6
"""Numbers that ``sys.monitoring`` gives to tools."""
FLAGS = ("foreach", "fused", "capturable", "amsgrad", "differentiable", "maximize")


def install(recorder: Recorder, module: ModuleType) -> None:
    """Remember each optimizer as it steps and each module that is called, and describe them when asked."""
    torch = module.torch
    numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    following = itertools.count()

    def remember(optimizer: Any) -> None:
        numbers[optimizer] = next(following)

    def describe() -> dict[str, object]:
        values = _settings(torch)
        for optimizer, number in list(numbers.items()):
            values.update(_optimizer(torch, f"optimizer.{number}", optimizer))
        values.update(_parameters(list(numbers)))
        return values

    called = modules.CalledModules(recorder, torch)
    recorder.at_optimizer.append(remember)
    recorder.describe_with(describe)
    recorder.describe_with(lambda: modules.describe(torch, called, list(numbers)))


def _settings(torch: Any) -> dict[str, object]:
    values: dict[str, object] = {
        "versions.python": sys.version.split()[0],
        "versions.torch": torch.__version__,
        "versions.cuda": torch.version.cuda,
        "threads.intra_op": torch.get_num_threads(),
        "backend.deterministic": torch.are_deterministic_algorithms_enabled(),
        "backend.matmul_precision": _asked(torch.get_float32_matmul_precision),
        "backend.cudnn_benchmark": torch.backends.cudnn.benchmark,
        "backend.cudnn_deterministic": torch.backends.cudnn.deterministic,
        "backend.cudnn_allow_tf32": _asked(lambda: torch.backends.cudnn.allow_tf32),
        "autograd.anomaly": torch.is_anomaly_enabled(),
        "autograd.profiler": torch.autograd._profiler_enabled(),
        "autograd.grad_enabled": torch.is_grad_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }
    if hasattr(torch._C, "_get_fp32_precision_getter"):  # torch 2.9 and later
        for backend in MATMUL_BACKENDS:
            precision = torch._C._get_fp32_precision_getter(backend, "matmul")
            values[f"backend.{backend}_matmul_precision"] = precision
    values["python.tracing"] = _tracers()
    values["cpus.online"] = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):
        values["cpus.allowed"] = len(os.sched_getaffinity(0))
    for name, value in os.environ.items():
        if (name.startswith(ENVIRONMENT_PREFIXES) or name in ENVIRONMENT_NAMES) and len(value) < 200:
            values[f"env.{name}"] = value
    return values


def _asked(read: Callable[[], object]) -> object:
    """A setting; None where its older and newer names were mixed, of which torch then tells neither."""
    try:
        return read()
    except RuntimeError:
        return None


def _tracers() -> str:
    """What looks at every call, line or allocation of the training thread: profilers, debuggers, coverage."""
    found = [name for name in ("profile", "trace") if getattr(sys, f"get{name}")() is not None]
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12 and later
    if monitoring is not None:
        found += [tool for i in range(MONITORING_TOOLS) if (tool := monitoring.get_tool(i)) is not None]
    tracemalloc = sys.modules.get("tracemalloc")
    if tracemalloc is not None and tracemalloc.is_tracing():
        found.append("tracemalloc")
    return ",".join(found)


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
    elements = elsewhere = pinned = 0
    for parameter, state in optimizer.state.items():
        for value in state.values() if isinstance(state, dict) else ():
            if not isinstance(value, torch.Tensor):
                continue
            if value.ndim == 0:
                scalar_devices[value.device.type] += 1
                continue
            size = value.numel() * value.element_size()
            elements += value.numel()
            dtypes[str(value.dtype).removeprefix("torch.")] += size
            devices[value.device.type] += size
            elsewhere += size if value.device != getattr(parameter, "device", value.device) else 0
            pinned += size if _is_pinned(torch, value) else 0
    return {
        f"{prefix}.state_elements": elements,
        f"{prefix}.state_bytes": sum(dtypes.values()),
        f"{prefix}.state_dtypes": modules.listed(dtypes),
        f"{prefix}.state_devices": modules.listed(devices),
        f"{prefix}.state_elsewhere_bytes": elsewhere,
        f"{prefix}.state_pinned_bytes": pinned,
        f"{prefix}.step_devices": modules.listed(scalar_devices),
    }


def _is_pinned(torch: Any, value: Any) -> bool:
    """Whether host memory is page-locked; asked only where CUDA runs, or the question would start it."""
    return bool(value.device.type == "cpu" and torch.cuda.is_initialized() and value.is_pinned())


def _parameters(optimizers: list[Any]) -> dict[str, object]:
    """The parameters that the optimizers train, each counted once."""
    parameters = {id(p): p for o in optimizers for group in o.param_groups for p in group["params"]}
    if not parameters:
        return {}  # a scaler may have skipped every update so far
    dtypes: Counter[str] = Counter()
    devices: Counter[str] = Counter()
    trainable = [p for p in parameters.values() if p.requires_grad]
    for parameter in parameters.values():
        dtypes[str(parameter.dtype).removeprefix("torch.")] += parameter.numel()
        devices[parameter.device.type] += parameter.numel()
    return {
        "model.trainable_parameters": len(trainable),
        "model.trainable_elements": sum(p.numel() for p in trainable),
        "model.dtypes": modules.listed(dtypes),
        "model.devices": modules.listed(devices),
    }
