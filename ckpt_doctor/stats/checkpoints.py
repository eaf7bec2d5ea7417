"""Lays the facts about two checkpoints side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts
from ckpt_doctor.facts.checkpoint_comparison import Change, CheckpointComparison, SizeChange
from ckpt_doctor.facts.states import PresenceStatus, StateKind

NO_TENSORS = "what is no tensor"
"""Key of the bytes that belong to no tensor."""


def compare_checkpoints(before: CheckpointFacts, after: CheckpointFacts) -> CheckpointComparison:
    """Find what changed from one checkpoint to another.

    A state of which one of them does not tell whether it is there has neither been lost nor gained.
    """
    return CheckpointComparison(
        before=before.path,
        after=after.path,
        lost=_only_in(before, after),
        gained=_only_in(after, before),
        changes=tuple(_changes(_properties(before), _properties(after))),
        sizes=tuple(sorted(_size_changes(before, after), key=lambda each: -abs(each.growth_bytes))),
    )


def _only_in(one: CheckpointFacts, other: CheckpointFacts) -> dict[StateKind, str]:
    return {
        kind: presence.where or ""
        for kind, presence in one.states.items()
        if presence.status is PresenceStatus.PRESENT
        and kind in other.states
        and other.states[kind].status is PresenceStatus.ABSENT
    }


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for what in {**before, **after}:
        if before.get(what) != after.get(what):
            yield Change(what, before.get(what), after.get(what))


def _properties(facts: CheckpointFacts) -> dict[str, str]:
    """All that is compared, as words by name."""
    properties = {"format": facts.format, "layout": facts.layout}
    if facts.model_prefixes:
        properties["prefixes of the model's keys"] = ", ".join(facts.model_prefixes)
    for index, optimizer in enumerate(facts.optimizers):
        name = "optimizer" if len(facts.optimizers) == 1 else f"optimizer {index}"
        properties.update({f"{name}{what}": value for what, value in _optimizer(optimizer)})
    for key, (dtypes, devices) in _kinds_by_key(facts).items():
        properties[f"{key}: dtypes"] = ", ".join(sorted(dtypes))
        if devices:
            properties[f"{key}: devices"] = ", ".join(sorted(devices))
    return properties


def _optimizer(optimizer: OptimizerFacts) -> Iterator[tuple[str, str]]:
    yield ": algorithm", optimizer.algorithm or "unknown"
    yield ": groups", str(len(optimizer.groups))
    yield ": parameters with state", str(optimizer.entries)
    if optimizer.step_devices:
        yield ": devices of step", ", ".join(optimizer.step_devices)
    for number, group in enumerate(optimizer.groups):
        yield f" group {number}: parameters", str(group.parameters)
        for option, value in group.options.items():
            yield f" group {number}: {option}", str(value)


def _kinds_by_key(facts: CheckpointFacts) -> dict[str, tuple[set[str], set[str]]]:
    """Dtypes and devices of the tensors below each top-level key."""
    kinds: dict[str, tuple[set[str], set[str]]] = {}
    for tensor in facts.tensors:
        dtypes, devices = kinds.setdefault(_top_level(tensor.key), (set(), set()))
        dtypes.add(tensor.dtype)
        if tensor.device is not None:
            devices.add(tensor.device)
    return kinds


def _size_changes(before: CheckpointFacts, after: CheckpointFacts) -> Iterator[SizeChange]:
    sizes = _sizes(before), _sizes(after)
    for key in {**sizes[0], **sizes[1]}:
        change = SizeChange(key, sizes[0].get(key), sizes[1].get(key))
        if change.before_bytes != change.after_bytes:
            yield change


def _sizes(facts: CheckpointFacts) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for tensor in facts.tensors:
        key = _top_level(tensor.key)
        sizes[key] = sizes.get(key, 0) + tensor.tensor_bytes
    if facts.payload_bytes is not None:
        sizes[NO_TENSORS] = facts.payload_bytes
    return sizes


def _top_level(key: str) -> str:
    """The file of a key, where it names one, with the first part of the key path."""
    file, separator, path = key.rpartition(": ")
    return f"{file}{separator}{path.partition('.')[0].partition('[')[0]}"
