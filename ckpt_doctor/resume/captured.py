"""The captured state: one tree of plain values, and how it is taken and put back.

::

    resume_manager      version of this format
    step, epoch
    model, ema, scheduler, optimizer, scaler        what their state_dict gives
    parts.<name>        the user's own
    flags               backend flags, precision, threads
    compile_cache       key, artifacts, libraries
    rank_<n>            of each rank: generators (torch_rng, cuda_rng, numpy_rng, python_rng) and the
                        place in the data (sampler_epoch, sampler_seed, samples_done, ...)

Names are those of ``StateKind`` where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.resume.compile_cache import cache_state, load_cache
from ckpt_doctor.resume.feeds import Feed
from ckpt_doctor.resume.flags import flags_state, set_flags
from ckpt_doctor.resume.parts import put_back, state_of
from ckpt_doctor.resume.plain import plain_copy
from ckpt_doctor.resume.ranks import gather, own_rank
from ckpt_doctor.resume.report import Outcome, PartReport
from ckpt_doctor.resume.rng import RNG_KINDS, rng_state, set_rng_state
from ckpt_doctor.resume.state import PARTS, ResumableState

MARK = "resume_manager"
"""Key that marks a captured state; its value is the version of the format."""
VERSION = 1
FLAGS = "flags"

_OBJECTS = (StateKind.MODEL, StateKind.EMA, StateKind.SCHEDULER, StateKind.OPTIMIZER, StateKind.SCALER)


def capture(state: ResumableState, feed: Feed | None, *, compile_cache: bool) -> dict[str, Any]:
    """Take a copy of everything. All ranks have to call it.

    Raises:
        UsageError: A part holds what could not be loaded with ``weights_only=True``.
    """
    tree: dict[str, Any] = {
        MARK: VERSION,
        StateKind.STEP.value: state.step,
        StateKind.EPOCH.value: state.epoch,
    }
    for place, part in state.objects():
        folder = tree if len(place) == 1 else tree.setdefault(place[0], {})
        folder[place[-1]] = plain_copy(state_of(part), ".".join(place))
    if state.flags:
        tree[FLAGS] = flags_state()
    cache = cache_state() if compile_cache else None
    if cache is not None:
        tree[StateKind.COMPILE_CACHE.value] = cache
    own = rng_state() if state.rng else {}
    if feed is not None:
        own |= feed.state_dict()
    for rank, each in enumerate(gather(plain_copy(own, "loader"))):
        tree[f"rank_{rank}"] = each
    return tree


def restore(state: ResumableState, feed: Feed | None, captured: Mapping[str, Any]) -> tuple[PartReport, ...]:
    """Put everything back that is there and that this run has.

    Returns:
        What became of each part of this rank.

    Raises:
        CheckpointError: It is no captured state, or does not fit this run.
    """
    _check_version(captured)
    state.step, state.epoch = captured[StateKind.STEP.value], captured[StateKind.EPOCH.value]
    own = own_part(captured)
    return (
        PartReport(StateKind.STEP.value, Outcome.RESTORED),
        PartReport(StateKind.EPOCH.value, Outcome.RESTORED),
        *_restore_cache(state, captured),
        *_restore_flags(state, captured),
        *_restore_objects(state, captured),
        *_restore_feed(feed, own, captured),
        *_restore_generators(state, own),
    )


def own_part(captured: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs to this rank alone; empty where the save had fewer ranks."""
    own: dict[str, Any] = captured.get(f"rank_{own_rank()}", {})
    return own


def _check_version(captured: Mapping[str, Any]) -> None:
    version = captured.get(MARK)
    if version is None:
        raise CheckpointError(
            "it was not made by ResumeManager", hint="load what ResumeManager.save has made"
        )
    if version != VERSION:
        raise CheckpointError(f"its format has version {version}, this ckpt-doctor reads {VERSION}")


def _restore_objects(state: ResumableState, captured: Mapping[str, Any]) -> Iterator[PartReport]:
    mine = set()
    for place, part in state.objects():
        mine.add(place)
        name = ".".join(place)
        saved = at(captured, place)
        if saved is None:
            yield PartReport(name, Outcome.NOT_SAVED)
        elif saved == {} and state_of(part):
            yield PartReport(name, Outcome.NOT_SAVED, "it was switched off at the save")
        else:
            yield PartReport(name, Outcome.RESTORED, notes=put_back(part, saved))
    theirs: list[tuple[str, ...]] = [(kind.value,) for kind in _OBJECTS if kind.value in captured]
    theirs += [(PARTS, name) for name in captured.get(PARTS, {})]
    yield from (PartReport(".".join(place), Outcome.NOT_USED) for place in theirs if place not in mine)


def at(captured: Mapping[str, Any], place: tuple[str, ...]) -> Any:
    """What lies at a place; None where nothing does."""
    found: Any = captured
    for key in place:
        found = found.get(key) if found is not None else None
    return found


def _restore_cache(state: ResumableState, captured: Mapping[str, Any]) -> Iterator[PartReport]:
    name = StateKind.COMPILE_CACHE.value
    saved = captured.get(name)
    if saved is not None and state.compile_cache:
        why = load_cache(saved)
        yield PartReport(name, Outcome.NOT_RESTORED if why else Outcome.RESTORED, why)
    elif saved is not None:
        yield PartReport(name, Outcome.NOT_USED)
    elif state.compile_cache:
        yield PartReport(name, Outcome.NOT_SAVED, "nothing was compiled by inductor before the save")


def _restore_flags(state: ResumableState, captured: Mapping[str, Any]) -> Iterator[PartReport]:
    saved = captured.get(FLAGS)
    if saved is not None and state.flags:
        yield PartReport(FLAGS, Outcome.RESTORED, notes=set_flags(saved))
    elif saved is not None:
        yield PartReport(FLAGS, Outcome.NOT_USED)
    elif state.flags:
        yield PartReport(FLAGS, Outcome.NOT_SAVED)


def _restore_feed(
    feed: Feed | None, own: Mapping[str, Any], captured: Mapping[str, Any]
) -> Iterator[PartReport]:
    if feed is None:
        if StateKind.SAMPLER_EPOCH.value in own:
            yield PartReport(StateKind.DATALOADER_POSITION.value, Outcome.NOT_USED)
        return
    saved = own if own or not feed.same_for_all else captured.get("rank_0", {})
    there = StateKind.SAMPLER_EPOCH.value in saved
    if there:
        feed.load_state_dict(dict(saved))
    for kind in feed.kinds:
        if not there:
            yield PartReport(kind.value, Outcome.NOT_SAVED, None if own else _FEWER_RANKS)
        elif kind is StateKind.DATALOADER_POSITION:
            yield PartReport(kind.value, Outcome.RESTORED, notes=feed.notes())
        else:
            yield PartReport(kind.value, Outcome.RESTORED)


def _restore_generators(state: ResumableState, own: Mapping[str, Any]) -> Iterator[PartReport]:
    saved = {kind: kind.value in own for kind in RNG_KINDS}
    reasons = set_rng_state(own) if state.rng else {}
    for kind, is_there in saved.items():
        if kind in reasons:
            why = reasons[kind]
            yield PartReport(kind.value, Outcome.NOT_RESTORED if why else Outcome.RESTORED, why)
        elif is_there:
            yield PartReport(kind.value, Outcome.NOT_USED)
        elif state.rng:
            yield PartReport(kind.value, Outcome.NOT_SAVED, None if own else _FEWER_RANKS)


_FEWER_RANKS = "the save had fewer ranks"
