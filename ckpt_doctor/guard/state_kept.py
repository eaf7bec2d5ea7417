"""Whether a checkpoint keeps the states that a resumed run has to get back."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ckpt_doctor.checks.checkpoints import presence
from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.states import Presence, PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.guard.failure import Failure
from ckpt_doctor.guard.inspected import inspected, told


def state_kept(path: str | os.PathLike[str], require: Iterable[str]) -> Failure | None:
    """Inspect a checkpoint, without executing anything in it.

    Args:
        path: A file or a folder, or an address that fsspec knows.
        require: Kinds of state, by their names in ``StateKind``.

    Returns:
        Which of them it lacks, or None.

    Raises:
        UsageError: There is no such kind of state, or none is named.
        CheckpointError: It cannot be read as a checkpoint.
    """
    kinds = _kinds(require)
    report = inspected(path, kinds)
    (facts,) = report.checkpoints
    known = {kind: presence(facts, kind) for kind in kinds}
    absent = [kind for kind in kinds if known[kind].status is PresenceStatus.ABSENT]
    doubts = {kind: doubt for kind in kinds if (doubt := _doubt(known[kind])) is not None}
    if not absent and not doubts:
        return None
    names = ", ".join(kind.value for kind in kinds if kind in absent or kind in doubts)
    return Failure(
        f"The checkpoint does not keep what a resume needs: {names}.",
        (
            *told(report, absent),
            *(f"{kind.value}: {doubt}" for kind, doubt in doubts.items()),
            f"Checkpoint: {facts.path}",
        ),
    )


def _kinds(names: Iterable[str]) -> tuple[StateKind, ...]:
    known = {kind.value: kind for kind in StateKind}
    asked = tuple(dict.fromkeys(names))
    unknown = next((name for name in asked if name not in known), None)
    if unknown is not None or not asked:
        what = "no kind of state is required" if unknown is None else f"{unknown!r} is no kind of state"
        raise UsageError(what, hint=f"The kinds are {', '.join(known)}.")
    return tuple(known[name] for name in asked)


def _doubt(known: Presence) -> str | None:
    """Why a state that is not absent is not sure to be there as a whole; None where it is."""
    if known.status is PresenceStatus.UNKNOWN:
        return f"it cannot be told whether it is there: {known.why or 'unknown'}"
    if known.status is PresenceStatus.PRESENT and known.detail is PresenceDetail.INCOMPLETE:
        return f"it is there only in part: {known.why or 'incomplete'}"
    return None
