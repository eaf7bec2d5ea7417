"""What the model is fed, in a few steps after the start and after each save.

Scripts without a DataLoader have no sampler whose indices could be noted: there the first tensor
that a module is called with stands for the batch.
"""

from __future__ import annotations

import zlib
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder, Signal
from ckpt_doctor.signals.watch import ModuleWatch

SIGNALS = (
    Signal("model_input", "event", "work", "first tensor that a module was called with: shape, dtype"),
)
NEEDS = ("torch",)

WATCHED_STEPS = 24
"""So many steps are looked at in a row."""
ELEMENTS_HASHED = 16


def install(recorder: Recorder, module: ModuleType) -> None:
    """Look at the first module call of some steps."""
    ModuleWatch(recorder, module, WATCHED_STEPS, _Watcher(recorder).look)


class _Watcher:
    """Looks at the first module call of each of some steps."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._seen = False

    def look(self, called: Any, args: tuple[Any, ...]) -> None:
        """Record the first tensor of a step's first module call."""
        if self._seen or not self._recorder.in_training_thread():
            return
        tensor = next((arg for arg in args if hasattr(arg, "numel") and hasattr(arg, "device")), None)
        if tensor is None:
            return
        self._seen = True
        self._recorder.at_step_end(self._step_ended)
        self._recorder.event(
            "model_input",
            elements=tensor.numel(),
            shape=list(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            device=tensor.device.type,
        )
        if tensor.device.type == "cpu" and tensor.numel():
            self._recorder.fed_with(_word(tensor))

    def _step_ended(self, held: bool) -> None:
        """Begin anew; it reads no counter."""
        self._seen = False


def _word(tensor: Any) -> str:
    """CRC-32 of some elements from the middle: the first ones are often padding."""
    flat = tensor.detach().reshape(-1)
    start = max(0, flat.numel() // 2 - ELEMENTS_HASHED // 2)
    return f"m:{zlib.crc32(repr(flat[start : start + ELEMENTS_HASHED].tolist()).encode()):08x}"
