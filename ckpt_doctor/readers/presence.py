"""From what was found to what is said of each state: present and where, absent and why, or unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ckpt_doctor.facts.states import Presence, PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.survey import Find, Survey

States = dict[StateKind, Presence]

RNG_KINDS = (StateKind.TORCH_RNG, StateKind.CUDA_RNG, StateKind.NUMPY_RNG, StateKind.PYTHON_RNG)

PLAIN_REMEDIES: Mapping[StateKind, str] = {
    StateKind.MODEL: "save model.state_dict()",
    StateKind.OPTIMIZER: "save optimizer.state_dict()",
    StateKind.SCHEDULER: "save scheduler.state_dict()",
    StateKind.SCALER: "save scaler.state_dict()",
    StateKind.STEP: "save the number of optimizer steps done",
    StateKind.EPOCH: "save the epoch",
    StateKind.SAMPLER_EPOCH: "save the epoch and call sampler.set_epoch(epoch) on resume",
    StateKind.SAMPLER_RNG: "give the sampler a torch.Generator of its own and save its state at the "
    "start of the epoch",
    StateKind.DATALOADER_POSITION: "use torchdata's StatefulDataLoader and save its state_dict(), or save "
    "the batches done in the epoch beside the sampler's state",
    StateKind.TORCH_RNG: "save torch.get_rng_state(), one per rank",
    StateKind.CUDA_RNG: "save torch.cuda.get_rng_state_all(), one set per rank",
    StateKind.NUMPY_RNG: "save numpy.random.get_state(), one per rank",
    StateKind.PYTHON_RNG: "save random.getstate(), one per rank",
    StateKind.EMA: "save the averaged weights",
    StateKind.COMPILE_CACHE: "keep TORCHINDUCTOR_CACHE_DIR on storage that outlives the run, or save "
    "the bytes of torch.compiler.save_cache_artifacts() beside the checkpoint",
    StateKind.LOADER_ARGUMENTS: "pass the loader's arguments again on resume",
}
"""What to do for a loop that calls torch.save itself."""


class Words(NamedTuple):
    """What a framework says of the states that its checkpoints lack."""

    remedies: Mapping[StateKind, str] = MappingProxyType({})
    never: Mapping[StateKind, str] = MappingProxyType({})
    """Why the framework never saves a state."""
    derived: Mapping[StateKind, str] = MappingProxyType({})
    """What the framework computes a state from on resume."""


def judge(
    bundle: Bundle,
    found: Survey,
    words: Words | None = None,
    *,
    is_decoy: Callable[[Find], bool] = lambda find: False,
) -> States:
    """The presence of every state.

    Args:
        bundle: The checkpoint.
        found: What was found in it.
        words: What the framework says of missing states.
        is_decoy: Finds that the framework means otherwise than their name says.
    """
    words = words or Words()
    states = {}
    for kind in StateKind:
        finds = [find for find in found.of(kind) if not is_decoy(find)]
        states[kind] = _presence(kind, finds, bundle, found, words)
    return states


def present(where: str, detail: PresenceDetail | None = None, why: str | None = None) -> Presence:
    """A state that is there."""
    return Presence(PresenceStatus.PRESENT, detail, where, why)


def absent(
    kind: StateKind, words: Words, detail: PresenceDetail | None = None, why: str | None = None
) -> Presence:
    """A state that is not there, with what its framework says of that."""
    remedy = words.remedies.get(kind, PLAIN_REMEDIES[kind])
    if detail is None and kind in words.derived:
        return Presence(PresenceStatus.ABSENT, PresenceDetail.DERIVED, None, words.derived[kind], remedy)
    if detail is None and kind in words.never:
        return Presence(
            PresenceStatus.ABSENT, PresenceDetail.NEVER_BY_FRAMEWORK, None, words.never[kind], remedy
        )
    return Presence(PresenceStatus.ABSENT, detail, None, why, remedy)


def unknown(why: str) -> Presence:
    """A state of which nothing can be said."""
    return Presence(PresenceStatus.UNKNOWN, why=why)


def all_unknown(why: str) -> States:
    """Nothing can be said of any state."""
    return {kind: unknown(why) for kind in StateKind}


def _presence(kind: StateKind, finds: list[Find], bundle: Bundle, found: Survey, words: Words) -> Presence:
    there = [find for find in finds if find.is_there]
    if there:
        best = there[0]
        more = f"{len(there)} of them" if len(there) > 1 else None
        return present(best.where, best.detail, best.note or more)
    damaged = next((name for name in bundle.damaged if may_hold(name, kind)), None)
    if damaged is not None:
        return unknown(f"{damaged} cannot be read: {bundle.damaged[damaged]}")
    if not found.complete:
        return unknown("the file holds too many objects to look at all of them")
    if finds:
        return absent(kind, words, finds[0].detail, f"{finds[0].where} is {_nothing(finds[0])}")
    if kind is StateKind.SCALER and found.half_by is not None:
        return absent(kind, Words(words.remedies), None, f"{found.half_by} says that training was in float16")
    return absent(kind, words)


def _nothing(find: Find) -> str:
    return "null" if find.detail is PresenceDetail.NULL else "empty"


_NAME_PARTS: Mapping[str, tuple[StateKind, ...]] = {
    "optim": (StateKind.OPTIMIZER,),
    "sched": (StateKind.SCHEDULER,),
    "scaler": (StateKind.SCALER,),
    "rng": RNG_KINDS,
    "random": RNG_KINDS,
    "trainer_state": (StateKind.STEP, StateKind.EPOCH),
    "sampler": (StateKind.SAMPLER_RNG, StateKind.SAMPLER_EPOCH),
    "dl_state": (StateKind.DATALOADER_POSITION,),
    "config": (),
    "token": (),
    "model": (StateKind.MODEL,),
    "training_args": (),
}


def may_hold(name: str, kind: StateKind) -> bool:
    """Whether a file of this name could hold a state; a name that says nothing could hold any."""
    base = name.rpartition("/")[2].lower()
    for part, kinds in _NAME_PARTS.items():
        if part in base:
            return kind in kinds
    return True
