"""Memory of CUDA devices, as torch's caching allocator counts it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("cuda_allocated_bytes", "bytes", "compute", "bytes in use by tensors on the process's device"),
    Signal("cuda_reserved_bytes", "bytes", "compute", "bytes that the allocator holds, in use or not"),
    Signal("cuda_alloc_retries", "count", "compute", "allocations that had to empty the cache and try again"),
    Signal("cuda_other_bytes", "bytes", "compute", "bytes in use by its tensors on the other devices"),
)
NEEDS = ("torch.cuda",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Ask the allocator for every fingerprint; it keeps these counts anyway, and no device waits."""

    def describe() -> dict[str, object]:
        # The question itself would start CUDA, and take memory of its own.
        return _describe(module) if module.is_initialized() else {}

    recorder.describe_with(describe)


def _describe(cuda: Any) -> dict[str, object]:
    device = cuda.current_device()
    stats = cuda.memory_stats(device)
    others = (number for number in range(cuda.device_count()) if number != device)
    properties = cuda.get_device_properties(device)
    return {
        "memory.cuda_allocated_bytes": stats.get("allocated_bytes.all.current"),
        "memory.cuda_reserved_bytes": stats.get("reserved_bytes.all.current"),
        "memory.cuda_alloc_retries": stats.get("num_alloc_retries"),
        "memory.cuda_other_bytes": sum(cuda.memory_allocated(number) for number in others),
        "cuda.device": str(getattr(properties, "uuid", device)),
        "machine.gpu": properties.name,
    }
