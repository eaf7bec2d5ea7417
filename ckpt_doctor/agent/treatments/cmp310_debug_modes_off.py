"""What is for debugging is off again, whatever the script asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, NotTested, PutBack
from ckpt_doctor.stats.fingerprints import value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "Profilers, tracers, retained graphs and hooks that are registered twice stay."
NEEDS = ("torch", "torch.optim.optimizer")

ANOMALY, ANOMALY_PASSES = "autograd.anomaly", "anomaly_backwards"
DETERMINISTIC = "backend.deterministic"
CUDNN = ("backend.cudnn_deterministic", "backend.cudnn_benchmark")
VARIABLES = ("CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_DISTRIBUTED_DEBUG")


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back the modes that only the resumed run has, and the variables."""
    changes = {change.key: change for change in comparison.changes}
    settings: dict[str, object] = {
        key: changes[key].before for key in (ANOMALY, DETERMINISTIC, *CUDNN) if key in changes
    }
    passes = comparison.counter(ANOMALY_PASSES)
    if passes is not None and passes.before == 0 and passes.after:
        # Switched on for a part of each step only, so it does not show between steps.
        settings[ANOMALY] = False
    environment = {name: _variable(comparison, name) for name in VARIABLES if f"env.{name}" in changes}
    if not settings and not environment:
        return NotTested("no debugging mode is on that can be switched off")
    told = [f"{key.partition('.')[2]}={value}" for key, value in settings.items()]
    told += [f"{name} {'not set' if value is None else value}" for name, value in environment.items()]
    return PutBack(what=", ".join(told), settings=settings or None, environment=environment)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Leave out the calls that switch modes on, and set the flags of cuDNN before the first steps."""
    if module.__name__ == "torch":
        if settings.get(ANOMALY) is False:
            recorder.wrap(module, "set_anomaly_enabled", _never(recorder, "anomaly detection"))
        if settings.get(DETERMINISTIC) is False:
            recorder.wrap(module, "use_deterministic_algorithms", _never(recorder, "determinism"))
        return
    cudnn = module.torch.backends.cudnn
    flags = {key.rpartition("cudnn_")[2]: settings[key] for key in CUDNN if key in settings}

    def act(number: int, optimizer: Any, taken: int) -> None:
        for name, value in flags.items():
            if getattr(cudnn, name) != value:
                setattr(cudnn, name, value)
                recorder.event(TREATED, what=f"cudnn.{name} set")

    if flags:
        before_steps(module, act)


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
