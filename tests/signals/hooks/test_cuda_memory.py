"""The CUDA allocator's own counts; the device is a stand-in, which torch.cuda's functions are asked for."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ckpt_doctor.signals.hooks import cuda_memory


class _Recorder:
    def __init__(self) -> None:
        self.describe: Callable[[], dict[str, object]] = dict

    def describe_with(self, describe: Callable[[], dict[str, object]]) -> None:
        self.describe = describe


def _cuda(*, initialized: bool, **stats: int) -> Any:
    named = {name.replace("__", "."): value for name, value in stats.items()}
    asked: list[str] = []

    def ask(name: str, value: object) -> Callable[..., object]:
        def answer(*args: object) -> object:
            asked.append(name)
            return value

        return answer

    return SimpleNamespace(
        asked=asked,
        is_initialized=lambda: initialized,
        current_device=ask("device", 1),
        memory_stats=ask("stats", named),
        device_count=ask("count", 2),
        memory_allocated=ask("allocated", 70),
        get_device_properties=ask("properties", SimpleNamespace(name="H", uuid="GPU-1")),
    )


def _described(cuda: Any) -> dict[str, object]:
    recorder = _Recorder()
    cuda_memory.install(recorder, cuda)  # type: ignore[arg-type]
    return recorder.describe()


def test_counts_of_the_processs_device_and_bytes_on_the_others() -> None:
    """What torch.cuda.memory_stats says, by our names."""
    cuda = _cuda(
        initialized=True,
        allocated_bytes__all__current=100,
        reserved_bytes__all__current=400,
        num_alloc_retries=3,
    )
    assert _described(cuda) == {
        "memory.cuda_allocated_bytes": 100,
        "memory.cuda_reserved_bytes": 400,
        "memory.cuda_alloc_retries": 3,
        "memory.cuda_other_bytes": 70,
        "cuda.device": "GPU-1",
        "machine.gpu": "H",
    }


def test_cuda_is_not_started_by_the_question() -> None:
    """A script that uses no device gets none."""
    cuda = _cuda(initialized=False)
    assert _described(cuda) == {}
    assert cuda.asked == []


def test_what_an_older_allocator_does_not_count_is_absent() -> None:
    """None, never 0."""
    assert _described(_cuda(initialized=True))["memory.cuda_alloc_retries"] is None
