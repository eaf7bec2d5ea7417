"""Starts the agent: waits for the libraries that it measures, and installs each signal's hook."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.options import AgentOptions, from_environment

if TYPE_CHECKING:
    from ckpt_doctor.agent.core import Agent
    from ckpt_doctor.agent.hooks import Hook


def begin() -> None:
    """Prepare this process; nothing of torch is imported until the script does so."""
    options = from_environment()
    if options is None:
        return
    started_s = time.perf_counter()
    if options.allow_tracing:
        _allow_tracing()
    if options.watch_files:
        from ckpt_doctor.agent import files

        files.watch(options)
    AfterImport({"torch": lambda module: _attach(options, started_s)}).install()


def _attach(options: AgentOptions, started_s: float) -> None:
    """Make the agent and install the hooks, each when the module that it needs is there."""
    from ckpt_doctor.agent.core import Agent
    from ckpt_doctor.agent.hooks import hooks

    agent = Agent(options, started_s)
    agent.event("imports", time.perf_counter() - started_s)
    waiting: dict[str, Callable[[ModuleType], None]] = {}
    # The treatment comes last: what hooks wrap it wraps once more, so they measure the treated run.
    for hook in (*hooks(), *_treatment(options.treatment)):
        for name in hook.needs:
            waiting[name] = _both(waiting.get(name), _installer(agent, hook))
    for name, action in list(waiting.items()):
        if name in sys.modules:
            action(sys.modules[name])
            del waiting[name]
    AfterImport(waiting).install()
    os.register_at_fork(after_in_child=agent.restart)


def _treatment(chosen: Mapping[str, Any] | None) -> Iterator[Hook]:
    """What is to be put back in this run, installed as hooks are."""
    if chosen is None:
        return
    from ckpt_doctor.agent.hooks import Hook
    from ckpt_doctor.agent.treating import treatment_of
    from ckpt_doctor.facts.treatment import TREATED

    treatment = treatment_of(chosen["code"])
    if treatment is not None and treatment.install is not None:
        install = functools.partial(treatment.install, settings=chosen["settings"])
        yield Hook(TREATED, (), treatment.needs, install)


def _installer(agent: Agent, hook: Hook) -> Callable[[ModuleType], None]:
    def action(module: ModuleType) -> None:
        try:
            hook.install(agent, module)
        except Exception as error:  # noqa: BLE001 - a library of another version must not stop the script
            for name in dict.fromkeys((hook.name, *(signal.name for signal in hook.signals))):
                agent.cannot_measure(name, f"{type(error).__name__}: {error}")

    return action


def _both(
    first: Callable[[ModuleType], None] | None, second: Callable[[ModuleType], None]
) -> Callable[[ModuleType], None]:
    if first is None:
        return second

    def action(module: ModuleType) -> None:
        first(module)
        second(module)

    return action


class AfterImport(MetaPathFinder):
    """Calls an action with a module as soon as the script has imported it."""

    def __init__(self, actions: dict[str, Callable[[ModuleType], None]]) -> None:
        self._actions = actions
        self._looking_for: set[str] = set()

    def install(self) -> None:
        """Watch imports from now on, if there is anything to wait for."""
        if self._actions:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as Python would, with a loader that calls the action afterwards.

        A library may only ask whether the module is there: the action waits until it is imported.
        """
        if fullname not in self._actions or fullname in self._looking_for:
            return None
        self._looking_for.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking_for.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _CallingLoader(spec.loader, self._imported)
        return spec

    def _imported(self, module: ModuleType) -> None:
        action = self._actions.pop(module.__name__, None)
        if not self._actions and self in sys.meta_path:
            sys.meta_path.remove(self)
        if action is not None:
            action(module)


class _CallingLoader(Loader):
    """A module's own loader, followed by an action."""

    def __init__(self, loader: Loader, action: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._restore(module)
        self._loader.exec_module(module)
        self._action(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def _restore(self, module: ModuleType) -> None:
        """Libraries look at their own loader (resources, zip imports): show them the real one."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader


def _allow_tracing() -> None:
    """Let processes of the same user read this one's stack where Yama restricts it.

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY), see prctl(2). Without Yama it fails and changes nothing.
    """
    import ctypes

    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1 & (2**64 - 1)), 0, 0, 0)
