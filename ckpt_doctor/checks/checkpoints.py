"""What the rules on checkpoints share: which states matter for a file, and how their absence is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Found, Severity
from ckpt_doctor.facts.states import Presence, PresenceDetail, PresenceStatus, StateKind

SOURCE = "checkpoint"
"""Source of evidence that was read from a checkpoint."""
SAVED = "could be saved"
"""What the evidence of ``savings`` is called."""

NO_LOADER = (
    "; no loader feeds this run, so that only matters if it draws from its data in an order of its own"
)
"""What is added about a run that is known to have none."""

_LOADER_SIGNALS = (RECORDING, "batches", "data_wait", "loader")
"""Without one of them no loader is seen."""
_SIGNS_OF_TRAINING = tuple(
    kind
    for kind in StateKind
    if kind not in (StateKind.MODEL, StateKind.EMA, StateKind.COMPILE_CACHE, StateKind.LOADER_ARGUMENTS)
)


def presence(facts: CheckpointFacts, kind: StateKind) -> Presence:
    """What is known of one state; unknown where the reader did not say."""
    return facts.states.get(kind, Presence(PresenceStatus.UNKNOWN, why="the reader does not say"))


def is_present(facts: CheckpointFacts, kind: StateKind) -> bool:
    """Whether a state is there, be it in part."""
    return presence(facts, kind).status is PresenceStatus.PRESENT


def is_absent(facts: CheckpointFacts, kind: StateKind) -> bool:
    """Whether a state is known not to be there."""
    return presence(facts, kind).status is PresenceStatus.ABSENT


def is_derived(facts: CheckpointFacts, kind: StateKind) -> bool:
    """Whether the framework computes an absent state from others on resume."""
    return presence(facts, kind).detail is PresenceDetail.DERIVED


def is_training(facts: CheckpointFacts) -> bool:
    """Whether a run is meant to go on from this file: it has weights, and state beside them."""
    return is_present(facts, StateKind.MODEL) and any(is_present(facts, kind) for kind in _SIGNS_OF_TRAINING)


def is_required(case: Case, *kinds: StateKind) -> bool:
    """Whether the project demands one of these states."""
    return any(kind.value in case.required for kind in kinds)


def severity(case: Case, kinds: Iterable[StateKind], otherwise: Severity) -> Severity:
    """An error where the project demands one of the states, else what the rule says."""
    return Severity.ERROR if is_required(case, *kinds) else otherwise


def absence(facts: CheckpointFacts, *kinds: StateKind) -> tuple[Evidence, ...]:
    """Evidence that states are missing, with why where that is known."""
    return tuple(
        Evidence(
            what=f"{kind.value} in {facts.layout} layout",
            value=_word(presence(facts, kind)),
            unit=None,
            source=SOURCE,
        )
        for kind in kinds
    )


def remedy(facts: CheckpointFacts, *kinds: StateKind) -> str:
    """The remedies of the framework for several states, each said once."""
    said = (presence(facts, kind).remedy for kind in kinds)
    return "; ".join(dict.fromkeys(text for text in said if text))


def savings(size_bytes: int) -> tuple[Evidence, ...]:
    """Evidence of how many bytes a copy does without in which this rule's finding is repaired."""
    return (Evidence(SAVED, size_bytes, "bytes", SOURCE),) if size_bytes > 0 else ()


def first_unknown(facts: CheckpointFacts, *kinds: StateKind) -> CannotTell | None:
    """Why a rule cannot be judged: the first of the states of which nothing is known."""
    for kind in kinds:
        known = presence(facts, kind)
        if known.status is PresenceStatus.UNKNOWN:
            return CannotTell(f"{facts.path}: {kind.value}: {known.why or 'unknown'}")
    return None


def order_was_seen(case: Case) -> bool:
    """Whether a run has shown what became of the order of the data: then DAT201 tells it, once."""
    return case.comparison is not None and case.comparison.order.restored is not None


def has_no_loader(case: Case) -> bool:
    """Whether both runs were recorded, and are known to have drawn no batch from a loader."""
    comparison = case.comparison
    if comparison is None or any(signal in comparison.not_measured for signal in _LOADER_SIGNALS):
        return False
    batches = comparison.counter("batches")
    drawn = batches is not None and bool(batches.before or batches.after)
    windows = (comparison.before, comparison.after)
    return not drawn and not any(tuple(window.rank.events_of("loader")) for window in windows)


def gather(
    outcomes: Iterable[Found | Sequence[Found] | CannotTell | None],
) -> tuple[Found, ...] | CannotTell | None:
    """The outcome for several checkpoints: what was found, else why nothing can be said, else nothing."""
    found: list[Found] = []
    unknown: list[CannotTell] = []
    for outcome in outcomes:
        if isinstance(outcome, CannotTell):
            unknown.append(outcome)
        elif isinstance(outcome, Found):
            found.append(outcome)
        elif outcome is not None:
            found.extend(outcome)
    if found:
        return tuple(found)
    return unknown[0] if unknown else None


def devices(facts: CheckpointFacts) -> frozenset[str]:
    """Kinds of devices on which tensors lay at the save, as ``cuda``."""
    return frozenset(t.device.partition(":")[0] for t in facts.tensors if t.device is not None)


def _word(known: Presence) -> str:
    text = known.detail.value.replace("_", " ") if known.detail else known.status.value
    return f"{text} ({known.why})" if known.why else text
