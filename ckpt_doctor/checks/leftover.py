"""How the slowdown that no rule explains is divided between the data and the compute side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ckpt_doctor.checks import blame
from ckpt_doctor.facts.comparison import Comparison, LineDelta, Window
from ckpt_doctor.facts.report import Finding, Side
from ckpt_doctor.facts.run import SourceLine

LINE_SHARE = 0.1
"""The user's lines, and parts of the step, are named from this part of what is unexplained on."""
LINES = 3
"""So many lines are named."""
WAITING_CPU_SHARE = 0.25
"""A rest of the step that grew with less CPU time than this part of it is waiting, not work."""
WORK_SHARE = 0.5
"""Part of a growth that must be work, of the device or of operators, to be called work."""
EXPOSED = "exposed_data_wait_s"
HOST_PARTS = ("forward", "rest")
"""Parts in which the host may do anything, also wait."""
MODULE_CALL = "_call_impl"
"""The function that every call of a module goes through."""
WORK_PARTS = ("forward", "backward", "rest")
"""Parts that a larger batch makes longer."""


def data_s(comparison: Comparison, findings: Sequence[Finding]) -> float:
    """Unexplained seconds per step on the data side; none where the host's wait may be hidden."""
    waits_s = exposed_s(comparison) if blame.asynchronous(comparison) else _waiting_s(comparison)
    if waits_s is None:
        return 0.0
    left_s = blame.unexplained_s(comparison, findings)
    explained_s = sum(f.delta_s or 0.0 for f in findings if blame.explains(f) and f.side is Side.DATA)
    return max(0.0, min(left_s, waits_s - explained_s))


def exposed_s(comparison: Comparison) -> float | None:
    """Growth of the time in which a device had nothing to do while the host waited for data."""
    counter = comparison.counter(EXPOSED)
    return None if counter is None else counter.delta


def compute_s(comparison: Comparison, findings: Sequence[Finding]) -> float:
    """Unexplained seconds per step everywhere else."""
    return blame.unexplained_s(comparison, findings) - data_s(comparison, findings)


def compute_side(comparison: Comparison, left_s: float) -> Side:
    """The compute side, where process or device are known to work longer on the same work.

    The rest of the step may hold anything that the script does: it counts where the stacks show calls of
    modules to have grown there. Evidence that is no recording may tell only that steps take longer, or that
    the host spends more time outside of all operators. Else the side is not established.
    """
    grown = {part.part: part.delta.value for part in comparison.budget if part.part != "data_wait"}
    if not grown or "parts" in comparison.not_measured:
        return Side.NOT_ESTABLISHED
    most = max(grown, key=lambda part: grown[part])
    same_work = most not in WORK_PARTS or "elements" not in comparison.not_measured
    if blame.asynchronous(comparison):
        works = _grew(comparison, "device_busy_s", left_s)
    elif most in HOST_PARTS and blame.cpu_growth_s(comparison) is None:
        works = _grew(comparison, "operator_s", sum(max(0.0, grown.get(part, 0.0)) for part in HOST_PARTS))
    else:
        works = most != "rest" or _modules_growth_s(comparison) >= WORK_SHARE * left_s
    return Side.COMPUTE if works and same_work else Side.NOT_ESTABLISHED


def parts(comparison: Comparison, left_s: float) -> tuple[str, ...]:
    """The parts of the step outside the data wait that grew by a part of what is unexplained."""
    known = (part for part in comparison.budget if part.part != "data_wait")
    return tuple(part.part for part in known if part.delta.value >= LINE_SHARE * left_s)


def lines(comparison: Comparison, left_s: float) -> tuple[LineDelta, ...]:
    """The user's lines that grew by a part of what is unexplained."""
    return blame.grown_lines(comparison, LINE_SHARE * left_s)[:LINES]


def advice(grown: Sequence[LineDelta], where: str) -> str:
    """What to look at next."""
    if grown:
        line = grown[0].line
        place = f"{line.file}:{line.line} ({line.function})"
        return f"Look at {place}, which grew most; then measure again without it."
    return f"Probe again with stacks (py-spy) and more turns to see which line grew, and look at {where}."


def _grew(comparison: Comparison, name: str, seconds: float) -> bool:
    """Whether a counter of seconds grew by a good part of some growth; not where it is unknown."""
    counter = comparison.counter(name)
    return counter is not None and counter.delta is not None and counter.delta >= WORK_SHARE * seconds


def _modules_growth_s(comparison: Comparison) -> float:
    """Seconds per step that calls of modules take longer, as the stacks show; 0 where they do not tell."""
    before, after = (_modules_s(window) for window in (comparison.before, comparison.after))
    return 0.0 if before is None or after is None else after - before


def _modules_s(window: Window) -> float | None:
    profile = next((p for p in window.run.stacks if p.rank == window.rank.rank), None)
    if profile is None or not profile.stacks or profile.sampled_s <= 0:
        return None
    inside = (s for stack, s in profile.stacks.items() if any(_is_module_call(frame) for frame in stack))
    return math.fsum(inside) / profile.sampled_s * window.step_s


def _is_module_call(frame: SourceLine) -> bool:
    return frame.function.rpartition(".")[2] == MODULE_CALL


def _waiting_s(comparison: Comparison) -> float:
    """Growth of the time that steps wait for data, as far as that can be told."""
    if blame.has_loader(comparison):
        return blame.growth_s(comparison, ("data_wait",))
    rest_s = blame.growth_s(comparison, ("data_wait", "rest"))
    spent_s = blame.cpu_growth_s(comparison)
    waits = spent_s is not None and not blame.contended(comparison) and spent_s < WAITING_CPU_SHARE * rest_s
    return rest_s if waits else 0.0
