"""The modules that a process trains, as far as their calls show them, and what they are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any
from weakref import ref

from ckpt_doctor.signals.contract import Recorder
from ckpt_doctor.signals.watch import ModuleWatch

WATCHED_STEPS = 4
"""Modules that a script calls at all, it calls in its first steps, or in those after a save."""
MODULE_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
PARAMETER_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")
GLOBAL_HOOKS = tuple(f"_global{name}" for name in MODULE_HOOKS)
OWN = "ckpt_doctor"
"""Package whose hooks are not the user's."""


class CalledModules:
    """Modules that were called by none of those known before, and all that they hold."""

    def __init__(self, recorder: Recorder, torch: ModuleType) -> None:
        self._recorder = recorder
        self._type = torch.nn.Module
        self._roots: list[ref[Any]] = []
        self._known: dict[int, ref[Any]] = {}
        ModuleWatch(recorder, torch, WATCHED_STEPS, self._called, self._compiled)

    def __iter__(self) -> Iterator[Any]:
        """The modules that are alive, each once."""
        held = (module for root in self._roots if (found := root()) is not None for module in found.modules())
        return iter({id(module): module for module in held}.values())

    def _called(self, module: Any, args: tuple[Any, ...]) -> None:
        known = self._known.get(id(module))
        if (known is None or known() is not module) and self._recorder.in_training_thread():
            self._add(module)

    def _compiled(self, what: object) -> None:
        """A module, or the method of one, that will be called where nothing watches."""
        module = getattr(what, "__self__", what)
        if isinstance(module, self._type):
            self._add(module)

    def _add(self, root: Any) -> None:
        self._roots.append(ref(root))
        self._known.update((id(module), ref(module)) for module in root.modules())


def describe(torch: ModuleType, modules: Iterable[Any], optimizers: Iterable[Any]) -> dict[str, object]:
    """Sizes of some modules: what is trained, in which types and layouts, and the hooks on it.

    Args:
        torch: The user's torch.
        modules: All modules, each once.
        optimizers: The optimizers that have stepped.
    """
    every = list(modules)
    if not every:
        return {}
    parameters = list({id(p): p for module in every for p in module.parameters(recurse=False)}.values())
    gradients = [p.grad for p in parameters if p.is_leaf and p.grad is not None]
    dense = [g for g in gradients if g.layout is torch.strided]
    return {
        "modules.count": len(every),
        "modules.training": sum(module.training for module in every),
        "modules.elements": sum(p.numel() for p in parameters),
        "modules.dtypes": listed(_elements(parameters)),
        "modules.channels_last": sum(_is_channels_last(torch, p) for p in parameters),
        "modules.trainable_elements": sum(p.numel() for p in parameters if p.requires_grad),
        "modules.gradient_parameters": len(gradients),
        "modules.gradient_elements": sum(g.numel() for g in dense),
        "modules.gradient_layouts": listed(Counter(_bare(g.layout) for g in gradients)),
        "modules.hooks": _hooks(torch, every, parameters),
        **_optimized(parameters, optimizers),
    }


def _optimized(parameters: Iterable[Any], optimizers: Iterable[Any]) -> dict[str, object]:
    """Those parameters that an optimizer updates; nothing where none has stepped yet."""
    held = {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}
    if not held:
        return {}
    optimized = [p for p in parameters if p.requires_grad and id(p) in held]
    return {
        "modules.optimized_parameters": len(optimized),
        "modules.optimized_elements": sum(p.numel() for p in optimized),
        "modules.optimized_bytes": sum(p.numel() * p.element_size() for p in optimized),
    }


def listed(counts: Counter[str]) -> str:
    """Counts by name in one value, as ``bfloat16:3,float32:9``."""
    return ",".join(f"{name}:{count}" for name, count in sorted(counts.items()))


def _elements(parameters: Iterable[Any]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for parameter in parameters:
        counts[_bare(parameter.dtype)] += parameter.numel()
    return counts


def _bare(name: object) -> str:
    return str(name).removeprefix("torch.")


def _is_channels_last(torch: ModuleType, parameter: Any) -> bool:
    """Whether the channels lie innermost; where both orders are the same, they do not."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    wanted = formats.get(parameter.ndim)
    if wanted is None or parameter.is_contiguous():
        return False
    return bool(parameter.is_contiguous(memory_format=wanted))


def _hooks(torch: ModuleType, modules: Iterable[Any], parameters: Iterable[Any]) -> int:
    """Hooks that run in forward or backward, without the agent's own."""
    places = [(torch.nn.modules.module, GLOBAL_HOOKS)]
    places += [(module, MODULE_HOOKS) for module in modules]
    places += [(parameter, PARAMETER_HOOKS) for parameter in parameters]
    tables = (getattr(place, name, None) for place, names in places for name in names)
    hooks = (hook for table in tables if table for hook in table.values())
    return sum(not str(getattr(hook, "__module__", "")).startswith(OWN) for hook in hooks)
