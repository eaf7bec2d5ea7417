"""The one entry to reading runs: two paths become run records, of recordings or of other evidence."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple, cast

from ckpt_doctor.errors import InputError, UsageError
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers import traces
from ckpt_doctor.readers.evidence import Evidence, Hints, Kind, Progress, TraceFile, trace_file, untold
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.lineage import joined
from ckpt_doctor.readers.recordings import is_recording, read_recording
from ckpt_doctor.readers.sources import list_folder
from ckpt_doctor.readers.stores import is_address
from ckpt_doctor.readers.text import clean

TWO_OF_A_KIND = (
    "compare takes two recordings, checkpoints, traces, TensorBoard folders, tables or logs, "
    "or a report in JSON and a later report or checkpoint"
)

_NO_HINTS = Hints()


class _Found(NamedTuple):
    """What a path holds, before it is read."""

    kind: str
    runs: Callable[[], list[RunRecord]]
    """Reads the runs that it holds, oldest first."""


def read_runs(
    before: str, after: str, hints: Hints = _NO_HINTS, progress: Progress = untold
) -> tuple[RunRecord, RunRecord] | None:
    """Read two runs that are to be compared.

    Where a path holds several runs the last one is taken; where both paths are the same, the last two.

    Returns:
        None where neither path holds a run: they may be checkpoints.

    Raises:
        InputError: One of them holds no run, they are of different kinds, or cannot be read.
        UsageError: The hints are for other evidence, or make no sense.
    """
    one, two = _find(before, hints, progress), _find(after, hints, progress)
    for path, found in ((before, one), (after, two)):
        if found is None:
            _check_may_be_checkpoint(path)
    if two is None:
        if one is None:
            return None
        raise _alone(before, one)
    if one is None:
        raise _alone(after, two)
    _check_hints(hints, one.kind)
    if one.kind != two.kind:
        raise InputError(
            f"{clean(before, 4096)} is a {one.kind} and {clean(after, 4096)} a {two.kind}: "
            "their times cannot be set side by side",
            hint=TWO_OF_A_KIND,
        )
    if one.kind != RECORDING and os.path.realpath(before) == os.path.realpath(after):
        runs = _read(before, one)
        return _noted(runs, max(0, len(runs) - 2)), _noted(runs, len(runs) - 1)
    pair = [_read(path, each) for path, each in ((before, one), (after, two))]
    return joined(_noted(pair[0], len(pair[0]) - 1), _noted(pair[1], len(pair[1]) - 1))


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds of evidence in the order in which they are asked.

    Raises:
        ValueError: A module in the folder is no well-formed kind.
    """
    found = []
    for info in pkgutil.iter_modules(traces.__path__, f"{traces.__name__}."):
        module = importlib.import_module(info.name)
        missing = [
            part for part in ("NAME", "ORDER", "IN_FOLDERS", "claims", "read") if not hasattr(module, part)
        ]
        if missing:
            raise ValueError(f"{info.name}: a kind of evidence has {', '.join(missing)}")
        found.append(cast(Kind, module))
    return tuple(sorted(found, key=lambda each: each.ORDER))


def _find(path: str, hints: Hints, progress: Progress) -> _Found | None:
    if is_address(path):
        return None
    if is_recording(path):
        return _Found(RECORDING, lambda: [read_recording(path)])
    files = _files(path, progress)
    for kind in kinds():
        own = tuple(file for file in files if (kind.IN_FOLDERS or not file.name) and kind.claims(file, hints))
        if own:
            return _Found(kind.NAME, lambda kind=kind, own=own: kind.read(Evidence(path, own, hints)))  # type: ignore[misc]
    return None


def _check_may_be_checkpoint(path: str) -> None:
    """Tell that nothing is there, or plain text, which only the user can explain.

    Raises:
        InputError: It is so.
    """
    if is_address(path):
        return
    if not os.path.lexists(path):
        raise InputError(f"{clean(path, 4096)}: there is no such file or folder", hint=TWO_OF_A_KIND)
    file = trace_file(path, "", untold)
    if file is not None and _is_plain_text(file.head_text):
        raise InputError(
            f"{clean(path, 4096)}: it is text that does not say what it means",
            hint="a log is read with --log-pattern, a table with --column FIELD=NAME",
        )


def _is_plain_text(head: str) -> bool:
    """Whether it is text, and not JSON, as some checkpoints are."""
    printable = all(c.isprintable() or c.isspace() for c in head.replace("\x1b", ""))
    return printable and "\ufffd" not in head and head.strip()[:1] not in ("", "{", "[")


def _alone(path: str, found: _Found) -> InputError:
    """What to say where only one of two paths holds a run."""
    return InputError(f"{clean(path, 4096)} is a {found.kind} and the other is none", hint=TWO_OF_A_KIND)


def _check_hints(hints: Hints, kind: str) -> None:
    """Tell that a hint is of no use: what was meant would be read in another way."""
    for option, given, wanted in (
        ("--log-pattern", hints.log_pattern is not None, "log"),
        ("--column", bool(hints.columns), "table of steps"),
    ):
        if given and kind != wanted:
            raise UsageError(f"{option} is for a {wanted}, and this is a {kind}")


def _files(path: str, progress: Progress) -> list[TraceFile]:
    if not os.path.isdir(path):
        file = trace_file(path, "", progress)
        return [] if file is None else [file]
    try:
        names = list_folder(path)
    except Malformed:
        return []
    found = (trace_file(os.path.join(path, name), name, progress) for name in names)
    return [file for file in found if file is not None]


def _read(path: str, found: _Found) -> list[RunRecord]:
    shown = clean(path, 4096)
    try:
        runs = found.runs()
    except Malformed as error:
        raise InputError(f"{shown}: {error.why}", hint=error.hint) from error
    except RecursionError as error:
        raise InputError(f"{shown}: it is nested too deep to be read") from error
    except MemoryError as error:
        raise InputError(f"{shown}: it needs more memory than there is to be read") from error
    if not runs:
        raise InputError(f"{shown}: this {found.kind} holds no steps of a training", hint=TWO_OF_A_KIND)
    return runs


def _noted(runs: list[RunRecord], index: int) -> RunRecord:
    """One of several runs, which says so."""
    if len(runs) == 1:
        return runs[0]
    run = runs[index]
    return replace(
        run, notes=(*run.notes, f"Run {index + 1} of {len(runs)} in {run.meta.path} is the one compared.")
    )
