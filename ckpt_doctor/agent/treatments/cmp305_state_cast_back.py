"""Optimizer state is cast back to its type in the control, and what no gradient reaches is dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent.first_steps import before_steps
from ckpt_doctor.facts.treatment import TREATED, UNTREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import optimizer_numbers, value_at_end

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.facts.run import RankRecord
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "Types that the control's state has too are left alone, and parameters are dropped only if those that "
    "are left are as many as in the control."
)
NEEDS = ("torch.optim.optimizer",)


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Cast to the control's types, and drop down to its number of parameters."""
    before, after = comparison.before.rank, comparison.after.rank
    settings: dict[str, dict[str, object]] = {}
    for number in optimizer_numbers(after):
        types, types_now = _types(before, number), _types(after, number)
        if types and set(types_now) - set(types):
            settings.setdefault(number, {})["types"] = types
        count, count_now = (value_at_end(rank, f"optimizer.{number}.parameters") for rank in (before, after))
        if isinstance(count, int) and isinstance(count_now, int) and 0 < count < count_now:
            settings.setdefault(number, {})["parameters"] = count
    if not settings:
        return NotThere("neither a type of the optimizer's state nor the number of its parameters grew")
    told = ", ".join(_told(number, wanted) for number, wanted in settings.items())
    return PutBack(what=told, settings=settings)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Cast before an optimizer's first step, and drop before its second."""
    torch = module.torch
    watches: dict[int, _Reached] = {}

    def act(number: int, optimizer: Any, taken: int) -> None:
        wanted = settings.get(str(number), {})
        if taken == 0 and "types" in wanted:
            _cast(recorder, torch, optimizer, wanted["types"])
        if taken == 0 and "parameters" in wanted:
            watches[number] = _Reached(optimizer)
        if taken == 1 and number in watches:
            _drop(recorder, optimizer, watches.pop(number).parameters(), wanted["parameters"])

    before_steps(module, act, steps=2)


def _types(rank: RankRecord, number: str) -> list[str]:
    """Types of an optimizer's state, from ``float32:12,float64:8``."""
    listed = value_at_end(rank, f"optimizer.{number}.state_dtypes")
    return [word.partition(":")[0] for word in listed.split(",") if word] if isinstance(listed, str) else []


def _told(number: str, wanted: Mapping[str, Any]) -> str:
    types = [f"state as {'/'.join(wanted['types'])}"] if "types" in wanted else []
    counts = [f"{wanted['parameters']} parameters"] if "parameters" in wanted else []
    return f"optimizer {number}: {' and '.join(types + counts)}"


def _cast(recorder: Recorder, torch: Any, optimizer: Any, types: list[str]) -> None:
    count = 0
    for parameter, state in optimizer.state.items():
        for name, value in list(state.items()):
            if not isinstance(value, torch.Tensor) or not value.ndim or not value.is_floating_point():
                continue
            if _bare(value.dtype) not in types:
                own = _bare(parameter.dtype)
                state[name] = value.to(getattr(torch, own if own in types else types[0]))
                count += 1
    if count:
        recorder.event(TREATED, what=f"{count} tensors cast")


class _Reached:
    """The parameters of an optimizer that a gradient reaches between two of its steps."""

    def __init__(self, optimizer: Any) -> None:
        self._ids: set[int] = set()
        every = {id(p): p for group in optimizer.param_groups for p in group["params"]}.values()
        self._handles = [p.register_post_accumulate_grad_hook(self._note) for p in every if p.requires_grad]

    def _note(self, parameter: Any) -> None:
        self._ids.add(id(parameter))

    def parameters(self) -> set[int]:
        """Their ids; the hooks are taken out again."""
        for handle in self._handles:
            handle.remove()
        return self._ids


def _drop(recorder: Recorder, optimizer: Any, reached: set[int], wanted: int) -> None:
    """Drop parameters that are listed twice, and those that nothing reaches if that leaves enough."""
    seen: set[int] = set()
    kept = [list(_once(group["params"], seen)) for group in optimizer.param_groups]
    if sum(map(len, kept)) > wanted:
        kept = [[p for p in parameters if id(p) in reached] for parameters in kept]
    left = sum(map(len, kept))
    if left != wanted:
        recorder.event(UNTREATED, why=f"gradients reach {left} of the optimizer's parameters, not {wanted}")
        return
    # Groups stay where they are, though they may be empty now: schedulers count on their places.
    for group, parameters in zip(optimizer.param_groups, kept, strict=True):
        group["params"] = parameters
    held = {id(p) for parameters in kept for p in parameters}
    for parameter in [p for p in optimizer.state if id(p) not in held]:
        del optimizer.state[parameter]
    recorder.event(TREATED, what=f"{wanted} parameters left")


def _once(parameters: list[Any], seen: set[int]) -> Iterator[Any]:
    for parameter in parameters:
        if id(parameter) not in seen:
            seen.add(id(parameter))
            yield parameter


def _bare(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
