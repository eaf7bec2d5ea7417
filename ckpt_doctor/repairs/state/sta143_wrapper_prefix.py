"""Strips the names that wrappers put before the model's keys.

What it does
------------
``_orig_mod.``, ``_fsdp_wrapped_module.`` and ``_checkpoint_wrapped_module.`` are taken out wherever they
stand in a name, and ``module.`` at its beginning where every name has it: in the model, in averaged
weights, and in the names by which an optimizer calls its parameters. The copy loads into the plain
module, before torch.compile or DistributedDataParallel wraps it.

What it leaves alone
--------------------
``module.`` before some of the names only, as in ``torch.optim.swa_utils.AveragedModel``: there it is a name
of the model's own. Names of which two would become one. Weights in several files with an index, which
names them too. Checkpoints of scripts that load them into the wrapped model (the ImageNet example,
accelerate), unless the rule is named with ``--only``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Set
from typing import Any

from ckpt_doctor.facts.repair import Change, Kept
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.survey import Find
from ckpt_doctor.repairs.draft import Draft, OptimizerDraft
from ckpt_doctor.repairs.words import counted

CODE = "STA143"
_LEADING = "module"
_ANYWHERE = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
_WORDS = _ANYWHERE | {_LEADING}
_WRAPPED_AT_LOAD = {
    "imagenet": "the ImageNet example loads them into the model that DataParallel has wrapped",
    "accelerate": "accelerator.load_state loads them into the model as prepare() has wrapped it",
}
"""Layouts whose own code needs the prefix, and why."""
_CLASH = "the names stay: without the prefix two of them would be the same"


def apply(draft: Draft) -> Iterator[Change | Kept]:
    """Repair each model, average and optimizer."""
    why = _WRAPPED_AT_LOAD.get(draft.facts.layout)
    if why is not None and CODE not in draft.request.only:
        yield Kept("model", f"the prefix stays: {why} (--only {CODE} strips it all the same)")
        return
    taken: set[str] = set()
    for find in draft.finds(StateKind.MODEL, StateKind.EMA):
        if isinstance(find.node, dict):
            words = yield from _strip_weights(draft, find)
            taken |= words if find.kind is StateKind.MODEL else set()
    for optimizer in draft.optimizers:
        yield from _strip_parameters(optimizer, taken)


def plain_names(names: Iterable[str], words: Set[str] = _WORDS) -> dict[str, str]:
    """Each name without its wrappers; the last part of a name is a tensor's own."""
    parts = {
        name: [part for part in path if part not in words & _ANYWHERE] + [own]
        for name in names
        for *path, own in [name.split(".")]
    }
    while _LEADING in words and parts and all(e[0] == _LEADING and len(e) > 1 for e in parts.values()):
        parts = {name: each[1:] for name, each in parts.items()}
    return {name: ".".join(each) for name, each in parts.items()}


def _strip_weights(draft: Draft, find: Find) -> Generator[Change | Kept, None, set[str]]:
    """Strip the names of a model's tensors, and give the words that were taken."""
    plain = plain_names(key for key in find.node if isinstance(key, str))
    renamed = {name: new for name, new in plain.items() if name != new}
    if find.kind is StateKind.MODEL and any(new.startswith(f"{_LEADING}.") for new in plain.values()):
        yield Kept(find.where, f"{_LEADING}. stays: not every name begins with it")
    if not renamed:
        return set()
    if draft.is_indexed(find.document):
        yield Kept(find.where, "the names stay: an index of several files holds them too")
        return set()
    if len(set(plain.values())) < len(plain):
        yield Kept(find.where, _CLASH)
        return set()
    weights = draft.at(find)
    _rename_keys(weights, renamed)
    words = _taken(renamed)
    versions = getattr(weights, "_metadata", None)
    if isinstance(versions, dict):
        _rename_keys(versions, {path: _plain_path(path, words) for path in versions})
    named = ", ".join(f"{word}." for word in sorted(words))
    what = f"stripped {named} from {counted(len(renamed), 'name')}: load them before the model is wrapped"
    yield draft.change(find.document, find.where, what)
    return words


def _strip_parameters(optimizer: OptimizerDraft, words: Set[str]) -> Iterator[Change | Kept]:
    """Strip the names of parameters: ids that are names, and those that stand beside the ids."""
    plain = plain_names(_names_in(optimizer), words)
    renamed = {name: new for name, new in plain.items() if name != new}
    if not renamed:
        return
    if len(set(plain.values())) < len(plain):
        yield Kept(optimizer.where, _CLASH)
        return
    if optimizer.has_ids:
        _rename_keys(optimizer.held("state"), renamed)
    for group in optimizer.groups:
        for key in ("params", "param_names"):
            if isinstance(group.get(key), list):
                group[key] = [renamed.get(each, each) for each in group[key]]
    yield optimizer.change(f"stripped the same from {counted(len(renamed), 'name')} of parameters")


def _names_in(optimizer: OptimizerDraft) -> list[str]:
    listed = [
        each for group in optimizer.groups for key in ("params", "param_names") for each in group.get(key, ())
    ]
    return list(dict.fromkeys(each for each in (*optimizer.entries, *listed) if isinstance(each, str)))


def _taken(renamed: Mapping[str, str]) -> set[str]:
    """The words that stand in the names no longer."""
    taken: set[str] = set()
    for old, new in renamed.items():
        taken |= (Counter(old.split(".")) - Counter(new.split("."))).keys()
    return taken


def _plain_path(path: str, words: Set[str]) -> str:
    """A module's path without its wrappers."""
    parts = [part for part in path.split(".") if part not in words & _ANYWHERE]
    while _LEADING in words and parts[:1] == [_LEADING]:
        parts = parts[1:]
    return ".".join(parts)


def _rename_keys(table: dict[Any, Any], renamed: Mapping[str, str]) -> None:
    """Rename keys in place and in order; of a wrapper and its inside, which become one, the latter stays."""
    items = list(table.items())
    table.clear()
    for key, value in items:
        table[renamed.get(key, key) if isinstance(key, str) else key] = value
