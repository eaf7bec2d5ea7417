"""Activation checkpoints of ``torch.utils.checkpoint``, and the time in which backward repeats forward."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import COMPILE
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("activation_checkpoints", "count", "compute", "activation checkpoints passed in forward"),
    Signal("recompute_s", "s", "compute", "time of backward in which activations were computed again"),
)
NEEDS = ("torch", "torch.utils.checkpoint")

CALLS, SECONDS = (signal.name for signal in SIGNALS)


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the classes behind ``checkpoint``, not the function: dynamo knows that one by its identity."""
    if module.__name__ == "torch":
        # A script that never imports the other module makes no calls.
        recorder.count_from_zero(CALLS, SECONDS)
        return
    _count_calls(recorder, module)
    watch = _Stopwatch(recorder)
    _time_hooks(recorder, module._recomputation_hook, watch)
    _time_reentrant(recorder, module, watch)


class _Stopwatch:
    """Runs while anything is computed again, once for all checkpoints within checkpoints."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._since_s = 0.0
        self.depth = 0

    def begin(self) -> None:
        """Go one level down."""
        if self.depth == 0:
            self._since_s = perf_counter()
        self.depth += 1

    def end(self, depth: int) -> None:
        """Go back up to a level, unless that was done before."""
        if self.depth > depth:
            self.depth = depth
            if depth == 0:
                self._recorder.count(SECONDS, perf_counter() - self._since_s)


def _count_calls(recorder: Recorder, module: ModuleType) -> None:
    """Count what is made or called once a checkpoint, where gradients are wanted and nothing is compiled."""
    wanted = module.torch.is_grad_enabled

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            if wanted() and not recorder.inside(COMPILE):
                recorder.count(CALLS)
            return original(*args, **kwargs)

        return counted

    recorder.wrap(module._checkpoint_hook, "__init__", make)
    recorder.wrap(module.CheckpointFunction, "apply", make)


def _time_hooks(recorder: Recorder, hooks: type, watch: _Stopwatch) -> None:
    """Without reentrant autograd, these hooks are in place while a region is computed again."""

    def make_enter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def enter(hook: Any) -> Any:
            watch.begin()
            return original(hook)

        return enter

    def make_exit(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(hook: Any, *error: Any) -> Any:
            watch.end(watch.depth - 1)
            return original(hook, *error)

        return leave

    recorder.wrap(hooks, "__enter__", make_enter)
    recorder.wrap(hooks, "__exit__", make_exit)


def _time_reentrant(recorder: Recorder, module: ModuleType, watch: _Stopwatch) -> None:
    """With reentrant autograd, a region is computed again from its backward to the one that it starts."""
    follows = False

    def make_region(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(*args: Any) -> Any:
            nonlocal follows
            if not follows:
                # Only now: most runs have no such region, and all have backward passes.
                follows = True
                recorder.wrap(module.torch.autograd, "backward", make_inner)
            depth = watch.depth
            watch.begin()
            try:
                return original(*args)
            finally:
                watch.end(depth)

        return backward

    def make_inner(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(*args: Any, **kwargs: Any) -> Any:
            watch.end(0)
            return original(*args, **kwargs)

        return backward

    recorder.wrap(module.CheckpointFunction, "backward", make_region)
