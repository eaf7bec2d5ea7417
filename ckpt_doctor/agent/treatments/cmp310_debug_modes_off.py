"""What is for debugging is off again, whatever the script asks for."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, UNTREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "Tracers, torch's older profiler, retained graphs, and hooks that are not copies of one another cannot "
    "be taken away."
)
NEEDS = ("torch", "torch.profiler.profiler", "torch.optim.optimizer")

ANOMALY, DETERMINISTIC, PROFILER = "autograd.anomaly", "backend.deterministic", "autograd.profiler"
CUDNN = ("backend.cudnn_deterministic", "backend.cudnn_benchmark")
PASSES = {"anomaly_backwards": ANOMALY, "profiled_backwards": PROFILER}
"""Counters of passes under a mode that may be on for a part of each step only."""
HOOKS = "modules.hooks"
TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
VARIABLES = ("CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_DISTRIBUTED_DEBUG")
PROFILING = ("start", "step", "stop")


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back the modes that only the resumed run has, and the variables."""
    changes = {change.key: change for change in comparison.changes}
    keys = (ANOMALY, DETERMINISTIC, PROFILER, *CUDNN)
    settings: dict[str, object] = {key: changes[key].before for key in keys if key in changes}
    for name, key in PASSES.items():
        passes = comparison.counter(name)
        if passes is not None and passes.before == 0 and passes.after:
            settings[key] = False
    if HOOKS in changes and _is_more(changes[HOOKS].before, changes[HOOKS].after):
        settings[HOOKS] = "once each"
    environment = {name: _variable(comparison, name) for name in VARIABLES if f"env.{name}" in changes}
    if not settings and not environment:
        return NotThere("no debugging mode is on that can be switched off")
    told = [f"{key.partition('.')[2]}={value}" for key, value in settings.items()]
    told += [f"{name} {'not set' if value is None else value}" for name, value in environment.items()]
    return PutBack(what=", ".join(told), settings=settings or None, environment=environment)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Leave out the calls that switch modes on, and put the rest right before the first steps."""
    if module.__name__ == "torch":
        if settings.get(ANOMALY) is False:
            recorder.wrap(module, "set_anomaly_enabled", _never(recorder, "anomaly detection"))
        if settings.get(DETERMINISTIC) is False:
            recorder.wrap(module, "use_deterministic_algorithms", _never(recorder, "determinism"))
    elif module.__name__ == "torch.profiler.profiler":
        if settings.get(PROFILER) is False:
            for name in PROFILING:
                recorder.wrap(module.profile, name, _left_out(recorder, name))
    else:
        _before_first_steps(recorder, module, settings)


def _before_first_steps(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    cudnn = module.torch.backends.cudnn
    flags = {key.rpartition("cudnn_")[2]: settings[key] for key in CUDNN if key in settings}
    looked = HOOKS not in settings

    def act(number: int, optimizer: Any, taken: int) -> None:
        nonlocal looked
        for name, value in flags.items():
            if getattr(cudnn, name) != value:
                setattr(cudnn, name, value)
                recorder.event(TREATED, what=f"cudnn.{name} set")
        if not looked:
            looked = True
            _drop_copies(recorder, module.torch.nn.Module)

    before_steps(module, act)


def _drop_copies(recorder: Recorder, kind: type) -> None:
    """Drop each hook that is equal to one before it on the same module: registered twice, it works twice."""
    copies = [(table, key) for table in _hook_tables(kind) for key in _copies(table)]
    for table, key in copies:
        del table[key]
    if copies:
        recorder.event(TREATED, what=f"{len(copies)} copies of hooks dropped")
    else:
        recorder.event(UNTREATED, why="no module has the same hook twice")


def _hook_tables(kind: type) -> Iterator[Any]:
    for module in [item for item in gc.get_objects() if issubclass(type(item), kind)]:
        yield from (table for name in TABLES if (table := vars(module).get(name)))


def _copies(table: Mapping[Any, Any]) -> Iterator[Any]:
    seen: list[Any] = []
    for key, hook in table.items():
        if hook in seen:
            yield key
        else:
            seen.append(hook)


def _is_more(before: object, after: object) -> bool:
    return isinstance(before, int) and isinstance(after, int) and 0 < before < after


def _variable(comparison: Comparison, name: str) -> str | None:
    value = value_at_end(comparison.before.rank, f"env.{name}")
    return None if value is None else str(value)


def _never(recorder: Recorder, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Hands on that a mode is to be off, whatever is asked for."""
    told = False

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def off(mode: bool, *args: Any, **kwargs: Any) -> Any:
            nonlocal told
            if mode and not told:
                told = True
                recorder.event(TREATED, what=f"{what} left off")
            return original(False, *args, **kwargs)

        return off

    return make


def _left_out(recorder: Recorder, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Does nothing in the place of a profiler's method."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def nothing(profiler: Any, *args: Any, **kwargs: Any) -> None:
            if name == PROFILING[0]:
                recorder.event(TREATED, what="profiler left off")

        return nothing

    return make
