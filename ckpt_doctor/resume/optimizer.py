"""Puts an optimizer's state back without what does not belong to it.

``Optimizer.load_state_dict`` alone lets the file win: its ``fused`` and ``foreach``, entries of
parameters that are gone, keys that no step will ever read. Here

- **flags** that choose an implementation are those of the live optimizer; numbers (learning rate,
  betas, weight decay) are those of the file, since schedulers change them;
- **entries** without a parameter are dropped, and so are keys that an optimizer of torch.optim
  would not make with its present flags;
- **dtype**: an optimizer of torch.optim gets the dtype that it would make itself (the parameter's);
  for others, which may keep float32 for bfloat16 parameters on purpose, the saved one stays;
- **device**: the parameter's; ``step`` stays on the CPU unless the group is fused or capturable, as
  in torch, since reading it from a device would wait for the device at every step;
- a class with a ``load_state_dict`` of its own decides dtype and device itself.
"""

from __future__ import annotations

import copy
import inspect
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import torch
from torch.optim import Optimizer

from ckpt_doctor.errors import CheckpointError

FLAGS = ("fused", "foreach", "capturable", "differentiable", "amsgrad")
"""Options that choose how a step is computed, not by how much it goes."""

_SLOW_FLAGS = {"fused": False, "foreach": False, "capturable": False, "differentiable": False}
_DRY_RUN_ERRORS = (AttributeError, AssertionError, IndexError, KeyError, RuntimeError, TypeError, ValueError)
"""What an optimizer may raise when it is stepped with tensors that have no data."""

Entry = dict[str, Any]


def restore_optimizer(optimizer: Optimizer, saved: Mapping[str, Any]) -> tuple[str, ...]:
    """Load a state dict by the rules above.

    Args:
        optimizer: Its state is replaced.
        saved: What ``optimizer.state_dict()`` gave; keys of ``state`` may be text.

    Returns:
        What is different from what was saved, one sentence each.

    Raises:
        CheckpointError: The groups are not those of the live optimizer.
    """
    groups: list[dict[str, Any]] = list(saved["param_groups"])
    _check_groups(optimizer, groups)
    parameters = dict(
        zip(
            (number for group in groups for number in group["params"]),
            (parameter for group in optimizer.param_groups for parameter in group["params"]),
            strict=True,
        )
    )
    entries = _by_number(saved["state"])
    expected = expected_state(optimizer) if _is_torchs(optimizer) else None
    notes: list[str] = []
    kept = _without_bloat(entries, parameters, expected, notes)
    tensors = [
        {key: value for key, value in group.items() if isinstance(value, torch.Tensor)}
        for group in optimizer.param_groups
    ]
    merged = [_merged(*pair, notes) for pair in zip(optimizer.param_groups, groups, strict=True)]
    optimizer.load_state_dict({"state": kept, "param_groups": merged})
    if type(optimizer).load_state_dict is Optimizer.load_state_dict:
        _settle_tensors(optimizer, kept, parameters, expected, notes)
    _keep_tensor_options(optimizer, tensors)
    return tuple(notes)


def expected_state(optimizer: Optimizer) -> dict[torch.Tensor, Entry] | None:
    """The state that an optimizer has, or would have after its first step: what matters is its form.

    An optimizer that has not stepped is stepped as a copy, on tensors without data (device meta):
    neither parameters nor state nor hooks are touched.

    Returns:
        Entries by parameter; None where the optimizer cannot be stepped in this way.
    """
    if optimizer.state:
        return {parameter: dict(entry) for parameter, entry in optimizer.state.items()}
    twins: dict[torch.Tensor, torch.Tensor] = {}
    groups = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad:
                twins[parameter] = _twin(parameter)
        flags = {flag: value for flag, value in _SLOW_FLAGS.items() if flag in group}
        groups.append({**group, **flags, "params": [twins[p] for p in group["params"] if p in twins]})
    double = copy.copy(optimizer)
    double.state, double.param_groups = defaultdict(dict), groups
    try:
        with torch.no_grad():
            # The bare function: hooks around it would take this for a step of the run.
            inspect.unwrap(type(optimizer).step)(double)
    except _DRY_RUN_ERRORS:
        # Some look at values in the arithmetic that follows; those of torch have made their state by then.
        if not _is_torchs(optimizer) or not all(double.state.get(twin) for twin in twins.values()):
            return None
    return {parameter: dict(double.state.get(twin, {})) for parameter, twin in twins.items()}


def empty_state(optimizer: Optimizer) -> dict[int, Entry]:
    """Entries of the form that the optimizer would make, full of zeros: a place to load state into.

    They are empty where its form cannot be known.
    """
    expected = expected_state(optimizer) or {}
    numbers = (p for group in optimizer.param_groups for p in group["params"])
    return {
        number: {key: _zeros(value, parameter, key) for key, value in expected[parameter].items()}
        for number, parameter in enumerate(numbers)
        if expected.get(parameter)
    }


def _twin(parameter: torch.Tensor) -> torch.Tensor:
    twin = torch.nn.Parameter(torch.empty(parameter.shape, dtype=parameter.dtype, device="meta"))
    twin.grad = torch.empty_like(twin)
    return twin


def _zeros(form: Any, parameter: torch.Tensor, key: str) -> Any:
    if not isinstance(form, torch.Tensor):
        return form
    if form.shape == parameter.shape and key != "step":
        return torch.zeros_like(parameter, dtype=form.dtype)
    return torch.zeros(form.shape, dtype=form.dtype)


def _is_torchs(optimizer: Optimizer) -> bool:
    """Whether all keys of its state are made in the first step: so it is in torch.optim alone."""
    return type(optimizer).__module__.startswith("torch.optim")


def _by_number(state: Mapping[Any, Any]) -> dict[int, Entry]:
    """Entries by number. torch.distributed.checkpoint makes text of numbers that are keys."""
    entries: dict[int, Entry] = {}
    for number, entry in state.items():
        entries.setdefault(int(number), {}).update(entry)
    return entries


def _check_groups(optimizer: Optimizer, groups: list[dict[str, Any]]) -> None:
    live = [len(group["params"]) for group in optimizer.param_groups]
    saved = [len(group["params"]) for group in groups]
    if live != saved:
        raise CheckpointError(
            f"the optimizer has groups of {_listed(live)} parameters, the checkpoint's has {_listed(saved)}",
            hint="build the optimizer over the parameters and groups that it had at the save",
        )
    for index, (group, other) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        names, others = group.get("param_names"), other.get("param_names")
        if names is not None and others is not None and list(names) != list(others):
            first = next(pair for pair in zip(names, others, strict=True) if pair[0] != pair[1])
            raise CheckpointError(
                f"group {index} of the optimizer lists {first[0]} where the checkpoint's lists {first[1]}",
                hint="give the parameters in the order that they had at the save",
            )


def _listed(counts: list[int]) -> str:
    return "+".join(map(str, counts)) or "no"


def _without_bloat(
    entries: dict[int, Entry],
    parameters: dict[int, torch.Tensor],
    expected: dict[torch.Tensor, Entry] | None,
    notes: list[str],
) -> dict[int, Entry]:
    orphans = [number for number in entries if number not in parameters]
    if orphans:
        notes.append(f"{len(orphans)} entries belong to no parameter and were dropped")
    dropped: Counter[str] = Counter()
    begun: Counter[str] = Counter()
    kept: dict[int, Entry] = {}
    for number, parameter in parameters.items():
        if number not in entries:
            continue
        entry = dict(entries[number])
        form = expected.get(parameter) if expected is not None else None
        if form and entry:
            for key in [key for key in entry if key not in form]:
                dropped[key] += 1
                del entry[key]
            for key in [key for key in form if key not in entry and isinstance(form[key], torch.Tensor)]:
                begun[key] += 1
                entry[key] = _zeros(form[key], parameter, key)
        kept[number] = entry
    notes += [f"{key} of {count} parameters is not used and was dropped" for key, count in dropped.items()]
    notes += [f"{key} of {count} parameters was not saved and begins at zero" for key, count in begun.items()]
    return kept


def _merged(live: dict[str, Any], saved: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A saved group with the flags of the live one, and with options that the file lacks."""
    merged = {**{key: value for key, value in live.items() if key != "params"}, **saved}
    for flag in FLAGS:
        if flag in live:
            if flag in saved and saved[flag] != live[flag]:
                notes.append(f"{flag} stays {live[flag]} (saved: {saved[flag]})")
            merged[flag] = live[flag]
    return merged


def _settle_tensors(
    optimizer: Optimizer,
    saved: dict[int, Entry],
    parameters: dict[int, torch.Tensor],
    expected: dict[torch.Tensor, Entry] | None,
    notes: list[str],
) -> None:
    """Undo casts that torch makes and should not, and take ``step`` off the device where it may."""
    on_device = {
        parameter: bool(group.get("fused") or group.get("capturable"))
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    casts: Counter[str] = Counter()
    for number, entry in saved.items():
        parameter = parameters[number]
        live = optimizer.state[parameter]
        for key, value in entry.items():
            if not isinstance(value, torch.Tensor) or not isinstance(live.get(key), torch.Tensor):
                continue
            if key == "step":
                if not on_device[parameter]:
                    live[key] = live[key].cpu()
            elif expected is None and live[key].dtype != value.dtype:
                live[key] = value.to(live[key].device)
            elif live[key].dtype != value.dtype:
                casts[f"{key} is {live[key].dtype} (saved: {value.dtype})"] += 1
    notes += [f"{what} for {count} parameters" for what, count in casts.items()]


def _keep_tensor_options(optimizer: Optimizer, tensors: list[dict[str, torch.Tensor]]) -> None:
    """Options that are tensors stay the tensors that they are: compiled and captured steps know them."""
    for group, kept in zip(optimizer.param_groups, tensors, strict=True):
        for key, tensor in kept.items():
            if isinstance(group.get(key), (torch.Tensor, int, float)):
                tensor.copy_(torch.as_tensor(group[key]))
                group[key] = tensor
