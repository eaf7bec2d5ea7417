"""The run has as many CPUs and threads as the control, whatever the script asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "A quota or a set of CPUs that the container or the launcher imposes stays, and so do NUMA bindings."
NEEDS = ("torch",)

CPUS, THREADS = "cpus.allowed", "threads.intra_op"
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
WATCHED_STEPS = 3
"""Libraries may bind the process once more when they begin to work: so many steps are looked at."""


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back the number of CPUs, of threads, and the variables that set it."""
    keys = (CPUS, THREADS, *(f"env.{name}" for name in VARIABLES))
    before, after = (
        {key: value_at_end(window.rank, key) for key in keys}
        for window in (comparison.before, comparison.after)
    )
    changed = {key: before[key] for key in keys if before[key] != after[key]}
    settings = {key: value for key, value in changed.items() if key in (CPUS, THREADS) and value is not None}
    environment = {
        name: None if changed[f"env.{name}"] is None else str(changed[f"env.{name}"])
        for name in VARIABLES
        if f"env.{name}" in changed
    }
    if not settings and not environment:
        return NotThere("the resumed run has as many CPUs and threads as the control")
    told = ", ".join(f"{key} {'not set' if value is None else value}" for key, value in changed.items())
    return PutBack(what=told, settings=settings or None, environment=environment)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Widen what is too narrow now, and do not let the script narrow it again."""
    if CPUS in settings and hasattr(os, "sched_setaffinity"):
        _Cpus(recorder, settings[CPUS])
    if THREADS in settings:
        _keep_threads(recorder, module, settings[THREADS])


class _Cpus:
    """The CPUs of this process: never fewer than so many."""

    def __init__(self, recorder: Recorder, least: int) -> None:
        self._recorder = recorder
        self._least = least
        self._set = os.sched_setaffinity
        self._steps = 0
        self._widen()
        recorder.wrap(os, "sched_setaffinity", self._make)
        recorder.at_step_end(self._look)

    def _make(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def widely(pid: int, cpus: Iterable[int]) -> None:
            wanted = set(cpus)
            if len(wanted) >= self._least:
                original(pid, wanted)
            else:
                self._recorder.event(TREATED, what=f"not narrowed to {len(wanted)} CPUs")

        return widely

    def _look(self, held: bool) -> dict[str, float] | None:
        """Widen after the first steps; it reads no counter."""
        self._steps += 1
        self._widen()
        return {} if self._steps < WATCHED_STEPS else None

    def _widen(self) -> None:
        allowed = os.sched_getaffinity(0)
        if len(allowed) >= self._least:
            return
        # The kernel leaves out those that the control group does not allow.
        self._set(0, range(os.cpu_count() or 1))
        every = sorted(os.sched_getaffinity(0), key=lambda cpu: (cpu not in allowed, cpu))
        self._set(0, every[: self._least])
        self._recorder.event(TREATED, what=f"widened from {len(allowed)} CPUs")


def _keep_threads(recorder: Recorder, torch: ModuleType, least: int) -> None:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def widely(count: int) -> None:
            if count >= least:
                original(count)
            else:
                recorder.event(TREATED, what=f"not narrowed to {count} threads")

        return widely

    if torch.get_num_threads() < least:
        torch.set_num_threads(least)
        recorder.event(TREATED, what=f"{least} threads set")
    recorder.wrap(torch, "set_num_threads", make)
