"""Finds the repairs by scanning their folder, applies those that are wanted, and writes the copy.

A repair is one module named like its rule, as ``repairs/state/sta141_storage_dragged.py``. Its docstring has
the headings of ``HEADINGS``. ``apply(draft)`` changes the draft and gives a ``Change`` or a ``Kept`` for
each thing; it is called only where the rule has found something.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shutil
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ckpt_doctor.errors import CheckpointError, InputError, UsageError
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.repair import Change, Kept, Repair, RepairOutcome, RepairRequest
from ckpt_doctor.facts.report import Finding
from ckpt_doctor.facts.states import PresenceStatus
from ckpt_doctor.readers.inspection import Inspection, look_into, read_checkpoint
from ckpt_doctor.readers.stores import is_address
from ckpt_doctor.repairs import state
from ckpt_doctor.repairs.draft import LOADERS, NOT_WRITTEN, Draft
from ckpt_doctor.repairs.output import check_output, files_in, written_beside

HEADINGS: tuple[str, ...] = ("What it does", "What it leaves alone")
"""Headings that every repair's docstring has, in this order, each underlined with dashes."""

Judge = Callable[[CheckpointFacts], Sequence[Finding]]
"""Gives what the rules find in a checkpoint."""

_MODULE_NAME = re.compile(r"(?P<code>sta\d{3})_(?P<name>[a-z0-9_]+)")
_NAMED_STATE = "STA131"
"""The rule whose repair drops state by name."""
_WHOLE_FORMATS = ("dcp", "torchsnapshot")
"""Formats of folders whose files only make sense together."""


class Remedy(NamedTuple):
    """One repair: its rule from its file name, its page from its docstring."""

    code: str
    name: str
    doc: str
    module: ModuleType


@cache
def catalogue() -> tuple[Remedy, ...]:
    """All repairs, by the code of their rules, which is the order in which they are applied.

    Raises:
        ValueError: A module in the folder is not a well-formed repair.
    """
    names = (info.name for info in pkgutil.iter_modules(state.__path__))
    return tuple(sorted((_load(name) for name in names), key=lambda each: each.code))


def repair(request: RepairRequest, judge: Judge) -> RepairOutcome:
    """Write a repaired copy of a checkpoint.

    Raises:
        UsageError: The output cannot be used, or a rule is named that has no repair.
        InputError: The checkpoint cannot be read or loaded, or is of a kind that no copy is made of.
        MachineError: torch is missing, or the copy cannot be written.
    """
    inspection = _inspected(request)
    findings = judge(inspection.facts)
    repairable = {finding.code for finding in findings} & {each.code for each in catalogue()}
    wanted = (request.only or repairable) & repairable - request.skipped
    draft = Draft(inspection, request)
    if not inspection.bundle.is_folder:
        draft.loaded(draft.documents[0])  # what would not load safely is told, whatever there is to do
    _check_names(draft, wanted)
    applied = (_apply(each, draft) for each in catalogue() if each.code in wanted)
    repairs = tuple(each for each in applied if each is not None)
    done = {each.code for each in repairs if each.changes}
    if wanted == repairable:
        # What found nothing more to do was done by another: the same bytes may be the finding of two rules.
        done |= wanted - {each.code for each in repairs}
    outcome = RepairOutcome(
        before=inspection.facts,
        after=None,
        output=request.output,
        repairs=repairs,
        skipped=tuple(sorted(repairable - wanted)),
        remaining=tuple(finding for finding in findings if finding.code not in done),
    )
    if request.output is None:
        return outcome
    output = Path(request.output)
    with written_beside(output, allow_overwrite=request.allow_overwrite) as temporary:
        _write(inspection, draft, temporary)
        after = replace(read_checkpoint(str(temporary)), path=request.output)
        _check_nothing_lost(inspection.facts, after)
    return replace(outcome, after=after, remaining=tuple(judge(after)))


def _load(name: str) -> Remedy:
    path = f"{state.__name__}.{name}"
    match = _MODULE_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{path}: a repair's file is named like its rule, as sta141_storage_dragged.py")
    module = importlib.import_module(path)
    doc = inspect.getdoc(module) or ""
    missing = [heading for heading in HEADINGS if f"{heading}\n{'-' * len(heading)}" not in doc]
    if missing:
        raise ValueError(f"{path}: its docstring lacks the headings {', '.join(missing)}")
    if not hasattr(module, "apply"):
        raise ValueError(f"{path}: a repair has apply(draft)")
    return Remedy(match["code"].upper(), match["name"].replace("_", "-"), doc, module)


def _inspected(request: RepairRequest) -> Inspection:
    """Look at the checkpoint, and at the place of the copy, before anything is loaded."""
    _check_codes(request.only | request.skipped)
    if is_address(request.path):
        raise InputError(
            f"{request.path}: repairs need a file of this machine", hint="Copy the checkpoint here first."
        )
    inspection = look_into(request.path)
    if request.output is not None:
        source = Path(inspection.bundle.path)
        check_output(source, Path(request.output), allow_overwrite=request.allow_overwrite)
    _check_kind(inspection)
    return inspection


def _check_codes(codes: Iterable[str]) -> None:
    known = [each.code for each in catalogue()]
    for code in sorted(codes):
        if code not in known:
            raise UsageError(f"there is no repair for {code}", hint=f"There are some for {', '.join(known)}.")


def _check_names(draft: Draft, wanted: Set[str]) -> None:
    """Refuse names of state that no repair would drop, as a misspelt one.

    Raises:
        UsageError: There is such a name.
    """
    if not draft.request.dropped_names:
        return
    known = {name for optimizer in draft.optimizers for name in optimizer.surplus.unknown}
    for name in sorted(draft.request.dropped_names - (known if _NAMED_STATE in wanted else set())):
        found = f"It finds {', '.join(sorted(known))}." if known else None
        raise UsageError(f"{_NAMED_STATE} finds no state to drop that is called {name}", hint=found)


def _check_kind(inspection: Inspection) -> None:
    """Decline what no sound copy can be made of.

    Raises:
        InputError: It is incomplete, or in a format that is not written here.
    """
    facts, bundle = inspection.facts, inspection.bundle
    if bundle.is_folder and not Path(bundle.path).is_dir():
        raise InputError(f"{facts.path}: it is an archive of files", hint="Unpack it first.")
    if facts.missing_parts:
        raise CheckpointError(f"{facts.path}: it is incomplete: {facts.missing_parts[0]}")
    formats = {document.format for document in bundle.documents.values()}
    foreign = sorted(formats & set(_WHOLE_FORMATS) if bundle.is_folder else formats - set(LOADERS))
    if foreign:
        raise InputError(
            f"{facts.path}: {NOT_WRITTEN} {foreign[0]}",
            hint="torch.distributed.checkpoint.format_utils.dcp_to_torch_save makes one file of it."
            if foreign[0] == "dcp"
            else None,
        )


def _apply(remedy: Remedy, draft: Draft) -> Repair | None:
    saved_before = draft.saved_bytes
    results = list(remedy.module.apply(draft))
    changes = tuple(each for each in results if isinstance(each, Change))
    kept = tuple(each for each in results if isinstance(each, Kept))
    payload_bytes = sum(change.payload_bytes for change in changes)
    saved_bytes = draft.saved_bytes - saved_before + payload_bytes
    return Repair(remedy.code, remedy.name, changes, kept, saved_bytes) if results else None


def _write(inspection: Inspection, draft: Draft, target: Path) -> None:
    """Write the files that differ, and copy the others as they are, also those that no reader knows."""
    names = files_in(Path(inspection.bundle.path)) if inspection.bundle.is_folder else [""]
    changed = draft.changed
    for name in names:
        source = draft.path_of(name)
        written = target / name if name else target
        written.parent.mkdir(parents=True, exist_ok=True)
        if name in changed:
            changed[name].write(written)
        else:
            shutil.copyfile(source, written)
        shutil.copymode(source, written)


def _check_nothing_lost(before: CheckpointFacts, after: CheckpointFacts) -> None:
    """Refuse a copy that lacks what the checkpoint has.

    Raises:
        CheckpointError: It does, which would be a fault of a repair.
    """
    present = PresenceStatus.PRESENT
    lost = [
        kind.value
        for kind, known in before.states.items()
        if known.status is present and after.states[kind].status is not present
    ]
    if lost or after.missing_parts:
        raise CheckpointError(
            f"{before.path}: the copy would lack {', '.join(lost) or after.missing_parts[0]}: it is not kept",
            hint="This is a fault of ckpt-doctor: name the rules with --only one by one to find which.",
        )
