"""Looks at the calls of modules, for a few steps at a time."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ckpt_doctor.signals.contract import Recorder

Look = Callable[[Any, tuple[Any, ...]], None]
"""Is given a module that is about to be called, and its positional arguments."""


class ModuleWatch:
    """A global forward pre-hook that is there for some steps after the start and after each save.

    A hook on every module call costs microseconds each. Dynamo warns of global hooks and compiles around
    them: a script that compiles gets none.
    """

    def __init__(
        self,
        recorder: Recorder,
        torch: ModuleType,
        steps: int,
        look: Look,
        compiled: Callable[[object], None] | None = None,
    ) -> None:
        """Look at the steps that come next, and at as many after each save.

        Args:
            recorder: The agent.
            torch: The user's torch.
            steps: How many steps are looked at in a row.
            look: Called with each module and its arguments.
            compiled: Called with what is given to ``torch.compile``.
        """
        self._recorder = recorder
        self._modules = torch.nn.modules.module
        self._steps = steps
        self._look = look
        self._compiled = compiled
        self._handle: Any = None
        self._left = 0
        self._compiles = False
        self.begin()
        recorder.wrap(torch, "compile", self._before_compiling)
        recorder.after_save(self.begin)

    def begin(self) -> None:
        """Look at the steps that come next."""
        if self._left == 0:
            self._recorder.at_step_end(self._step_ended)
        self._left = self._steps
        if self._handle is None and not self._compiles:
            self._handle = self._modules.register_module_forward_pre_hook(self._look)

    def _before_compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_unwatched(*args: Any, **kwargs: Any) -> Any:
            self._compiles = True
            self._stop()
            if self._compiled is not None:
                self._compiled(args[0] if args else kwargs.get("model"))
            return original(*args, **kwargs)

        return compile_unwatched

    def _step_ended(self, held: bool) -> dict[str, float] | None:
        """Count down; it reads no counter."""
        self._left -= 1
        if self._left:
            return {}
        self._stop()
        return None

    def _stop(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
