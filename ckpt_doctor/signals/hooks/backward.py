"""Backward time, from torch.autograd's two entry points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.clock import BACKWARD, COMPILE, REST
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("backward", "s", "compute", "time in autograd's backward, without compilation inside it"),
    Signal("backwards", "count", "work", "backward passes: micro-batches, where gradients accumulate"),
)
NEEDS = ("torch.autograd",)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap ``torch.autograd.backward`` (which ``Tensor.backward`` calls) and ``grad``."""
    inside = False
    """Autograd may call itself (checkpointing, double backward): the outermost call is the pass.

    What a compiler traces is no pass at all.
    """

    def make(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside or recorder.inside(COMPILE) or not recorder.in_training_thread():
                return original(*args, **kwargs)
            inside = True
            recorder.backward_begins(name, args, kwargs)
            recorder.push(BACKWARD)
            try:
                return original(*args, **kwargs)
            finally:
                inside = False
                recorder.pop_into(REST)

        return timed

    for name in ("backward", "grad"):
        recorder.wrap(module, name, partial(make, name))
