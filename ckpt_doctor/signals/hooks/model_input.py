"""What the model is fed, in a few steps after the start and after each save.

Scripts without a DataLoader have no sampler whose indices could be noted: there the first tensor
that a module is called with stands for the batch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("model_input", "event", "work", "first tensor that a module was called with: shape, dtype"),
)
NEEDS = ("torch",)

WATCHED_STEPS = 24
"""A hook on every module call costs microseconds each: it is there for so many steps only."""
ELEMENTS_HASHED = 16


def install(recorder: Recorder, module: ModuleType) -> None:
    """Put a global forward pre-hook in place, and take it out again.

    Dynamo warns of global hooks and compiles around them: a script that compiles gets none.
    """
    watcher = _Watcher(recorder, module.nn.modules.module)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_unwatched(*args: Any, **kwargs: Any) -> Any:
            watcher.give_up()
            return original(*args, **kwargs)

        return compile_unwatched

    watcher.watch()
    recorder.wrap(module, "compile", make)
    recorder.at_step_end(watcher.step_ended)
    recorder.after_save(watcher.watch)


class _Watcher:
    """Looks at the first module call of each of some steps."""

    def __init__(self, recorder: Recorder, modules: Any) -> None:
        self._recorder = recorder
        self._modules = modules
        self._handle: Any = None
        self._left = 0
        self._seen = False
        self._compiles = False

    def watch(self) -> None:
        """Look at the steps that come next."""
        self._left = WATCHED_STEPS
        if self._handle is None and not self._compiles:
            self._handle = self._modules.register_module_forward_pre_hook(self.look)

    def give_up(self) -> None:
        """Look no more, since something is compiled."""
        self._compiles = True
        self._stop()

    def step_ended(self) -> dict[str, float]:
        """Count down; it reads no counter."""
        self._seen = False
        self._left -= 1
        if self._left <= 0:
            self._stop()
        return {}

    def look(self, called: Any, args: tuple[Any, ...]) -> None:
        """Record the first tensor of a step's first module call."""
        if self._seen or not self._recorder.in_training_thread():
            return
        tensor = next((arg for arg in args if hasattr(arg, "numel") and hasattr(arg, "device")), None)
        if tensor is None:
            return
        self._seen = True
        self._recorder.event(
            "model_input",
            elements=tensor.numel(),
            shape=list(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            device=tensor.device.type,
        )
        if tensor.device.type == "cpu" and tensor.numel():
            self._recorder.input_seen(_digest(tensor))

    def _stop(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def _digest(tensor: Any) -> str:
    """CRC-32 of some elements from the middle: the first ones are often padding."""
    flat = tensor.detach().reshape(-1)
    start = max(0, flat.numel() // 2 - ELEMENTS_HASHED // 2)
    return f"{zlib.crc32(repr(flat[start : start + ELEMENTS_HASHED].tolist()).encode()):08x}"
