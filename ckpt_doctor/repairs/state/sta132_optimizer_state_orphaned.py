"""Drops entries of optimizer state that belong to no parameter, and parameters that are listed twice.

What it does
------------
Entries of ``state`` whose id no group lists are dropped: ``load_state_dict`` hands them on from save to save
and nothing reads them. Where the groups list a parameter whose weights are nowhere in the checkpoint, its
entry is dropped and its id stays, so that the copy loads wherever the checkpoint did; its moments begin
anew, as its weights do. An id that the groups list more than once is kept where it stands first. Entries
beyond the number of the model's parameters are dropped from state and groups, and groups of nothing else
with them, where each is equal to the last bit to one that stays. A run that loads the copy has to build its
groups once, as the first run did.

What it leaves alone
--------------------
Second entries that differ from the first: which of them is live cannot be told. ``--skip STA132`` leaves
everything alone, as it should be where the weights of some parameters are kept in a file of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_doctor.facts.repair import Change, Kept
from ckpt_doctor.repairs.draft import Draft, OptimizerDraft
from ckpt_doctor.repairs.words import counted

_SHOWN = 5
_PER_PARAMETER = ("params", "param_names")
"""Lists of a group that have an item for each parameter."""


def apply(draft: Draft) -> Iterator[Change | Kept]:
    """Repair each optimizer."""
    for optimizer in draft.optimizers:
        beyond = optimizer.surplus
        if not optimizer.has_ids:
            continue
        if beyond.unlisted:
            optimizer.drop_entries(beyond.unlisted)
            yield optimizer.change(f"dropped {_entries(beyond.unlisted)} that no group lists")
        if beyond.strangers:
            optimizer.drop_entries(beyond.strangers)
            why = "of parameters whose weights are nowhere in it (--skip STA132 if they are kept apart)"
            yield optimizer.change(f"dropped {_entries(beyond.strangers)} {why}")
        if beyond.repeated:
            _list_once(optimizer)
            yield optimizer.change(
                f"listed {counted(len(beyond.repeated), 'parameter')} once that stood twice"
            )
        if beyond.twins:
            yield _drop_twins(optimizer)


def _list_once(optimizer: OptimizerDraft) -> None:
    listed: set[Any] = set()
    for group in optimizer.groups:
        is_kept = []
        for id_ in group["params"]:
            is_kept.append(id_ not in listed)
            listed.add(id_)
        _keep(group, is_kept)


def _drop_twins(optimizer: OptimizerDraft) -> Change | Kept:
    twins = optimizer.surplus.twins
    if not _repeat_others(optimizer):
        why = "they are more than the model has parameters, but no copies: the live ones cannot be told"
        return Kept(optimizer.where, f"{_entries(twins)} left in: {why}")
    optimizer.drop_entries(twins)
    for group in optimizer.groups:
        _keep(group, [id_ not in twins for id_ in group["params"]])
    emptied = optimizer.drop_empty_groups()
    groups = f", and {counted(emptied, 'group')} of nothing else" if emptied else ""
    return optimizer.change(f"dropped {_entries(twins)}, copies of others{groups}")


def _repeat_others(optimizer: OptimizerDraft) -> bool:
    """Whether each entry beyond the need equals one of its own that stays; zeros prove nothing."""
    entries = optimizer.entries
    twins = {id_: entries.get(id_, {}) for id_ in optimizer.surplus.twins}
    left = [entry for id_, entry in entries.items() if id_ not in twins]
    for entry in twins.values():
        match = next((index for index, other in enumerate(left) if _is_equal(entry, other)), None)
        if match is None:
            return False
        del left[match]
    return any(id_ in twins and tensor.dim() and bool(tensor.any()) for id_, _, tensor in optimizer.pieces())


def _is_equal(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    import torch

    if one.keys() != other.keys():
        return False
    for name, value in one.items():
        second = other[name]
        if type(value) is not type(second):
            return False
        if isinstance(value, torch.Tensor):
            if value.dtype != second.dtype or not torch.equal(value, second):
                return False
        elif not isinstance(value, (bool, int, float, type(None))) or value != second:
            return False
    return True


def _keep(group: dict[Any, Any], is_kept: Sequence[bool]) -> None:
    for key in _PER_PARAMETER:
        if isinstance(group.get(key), list) and len(group[key]) == len(is_kept):
            group[key] = [each for each, keep in zip(group[key], is_kept, strict=True) if keep]


def _entries(ids: Sequence[Any]) -> str:
    named = ", ".join(str(id_) for id_ in ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
    return f"{counted(len(ids), 'entry', 'entries')} of state ({named})"
