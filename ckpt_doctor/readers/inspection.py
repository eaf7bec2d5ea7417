"""The one entry to reading checkpoints: a path becomes ``CheckpointFacts``.

Nothing in the file is executed, no tensor is read, and torch is not imported.
"""

from __future__ import annotations

import gc
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.checkpoint import CheckpointFacts, TensorEntry
from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.documents import PAYLOAD_SUFFIX, SIDE_FORMATS, Bundle, Document, Reading
from ckpt_doctor.readers.folders import Choice, choose, without
from ckpt_doctor.readers.formats import decode_file, recognise
from ckpt_doctor.readers.globals import executable
from ckpt_doctor.readers.layout import layout_of
from ckpt_doctor.readers.limits import Budget, Foreign, Malformed, Unrecognised, Unrelated
from ckpt_doctor.readers.optimizers import account_all
from ckpt_doctor.readers.presence import States
from ckpt_doctor.readers.shards import absent_shards
from ckpt_doctor.readers.sources import Meter, Source
from ckpt_doctor.readers.stores import Store, is_address, store_of
from ckpt_doctor.readers.survey import Find, Survey, counter_value, survey
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import Path, Tensor, needed_bytes, show_path

_MAX_DOCUMENTS = 512
_MAX_OPTIMIZERS = 64
_REMOTE_AT_ONCE = 8
_CHECKPOINT_NAME = (
    r"(?i).*\.(pt|pth|ckpt|safetensors|metadata)|(random_states|custom_checkpoint).*\.pkl|"
    r"(pytorch_model|adapter_model|optimizer|scheduler|sampler|training_args|dl_state_dict).*\.bin"
)
"""A file of such a name that is in no known format is damaged; another is none of ours."""
_ONE_PARAMETER = r"(.*/)?zero/[^/]+/\w+\.pt"
"""DeepSpeed's universal checkpoints: a file for each slot of each parameter, which its name tells."""
_PREFIXES = ("_orig_mod.", "module.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


class Inspection(NamedTuple):
    """A checkpoint as it was read, for those who go back to the places in its files."""

    facts: CheckpointFacts
    bundle: Bundle
    found: Survey


def read_checkpoint(path: str) -> CheckpointFacts:
    """Read one checkpoint file or folder.

    Args:
        path: A local path, or an address that fsspec knows, as ``s3://bucket/run/step-1000``.

    Returns:
        All that can be known of it without executing it and without reading its tensors.

    Raises:
        CheckpointError: It cannot be read as a checkpoint.
    """
    return look_into(path).facts


def look_into(path: str) -> Inspection:
    """Read one checkpoint, and keep what it was decoded to; see ``read_checkpoint``."""
    shown = clean(path, 4096)
    meter = Meter()
    try:
        with _collector_paused():
            store = store_of(path)
            budget = Budget()
            return _inspect(_open(store, path, budget, meter), budget, meter)
    except Malformed as error:
        raise CheckpointError(f"{shown}: {error.why}", hint=error.hint) from error
    except RecursionError as error:
        raise CheckpointError(f"{shown}: it is nested too deep to be read") from error
    except MemoryError as error:
        raise CheckpointError(f"{shown}: it needs more memory than there is to be read") from error


def read_all(paths: Sequence[str]) -> list[CheckpointFacts | CheckpointError]:
    """Read several checkpoints; remote ones at once, since most of their time is waiting.

    Returns:
        For each path, in order, what is known of it or why it cannot be read.
    """
    if not any(is_address(path) for path in paths):
        return [_read_or_error(path) for path in paths]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_REMOTE_AT_ONCE) as pool:
        return list(pool.map(_read_or_error, paths))


def written_since(path: str, unix_s: float) -> bool:
    """Whether a local checkpoint was saved over after some moment.

    Args:
        path: A file or folder; one that is not there was not written.
        unix_s: The moment, in seconds since 1970.
    """
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    for file in files or [path]:
        with suppress(OSError):
            if os.stat(file).st_mtime > unix_s:
                return True
    return False


def _read_or_error(path: str) -> CheckpointFacts | CheckpointError:
    try:
        return read_checkpoint(path)
    except CheckpointError as error:
        return error


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Spare the garbage collector's walks over what is being built: a fifth of the time of a large file."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _open(store: Store, path: str, budget: Budget, meter: Meter) -> Bundle:
    is_folder = store.is_folder(path)
    choice = choose(store, path) if is_folder else Choice(path)
    if is_folder and (choice.path == path or store.is_folder(choice.path)):
        return _open_folder(store, choice, budget, meter)
    return _open_file(store, choice.path, budget, meter)


def _open_file(store: Store, path: str, budget: Budget, meter: Meter) -> Bundle:
    source = store.open(path, "", meter)
    try:
        reading = Reading(source, budget, called=posixpath.basename(path))
        if reading.is_tar and recognise(reading) is None:
            return _open_archive(path, reading, meter)
        document = decode_file(reading)
    finally:
        source.close()
    return Bundle(path, False, {"": document}, {"": source.size_bytes})


def _open_archive(path: str, reading: Reading, meter: Meter) -> Bundle:
    """Open an archive of files as the folder that was packed into it."""
    from ckpt_doctor.readers.tars import TarStore

    return _open(TarStore(path, reading.tar), path, reading.budget, meter)


def _open_folder(store: Store, choice: Choice, budget: Budget, meter: Meter) -> Bundle:
    path = choice.path
    files = without(store.files(path), choice.skipped)
    if not files:
        raise Malformed("it is empty")
    store.expect(path, (name for name in files if not name.endswith(PAYLOAD_SUFFIX)), meter)
    documents: dict[str, Document] = {}
    damaged: dict[str, str] = {}
    foreign: list[str] = []
    payload: set[str] = set()
    for name in files:
        if name in payload or name.endswith(PAYLOAD_SUFFIX) or re.fullmatch(_ONE_PARAMETER, name):
            continue
        if len(documents) >= _MAX_DOCUMENTS:
            damaged[name] = f"the folder has more than {_MAX_DOCUMENTS} checkpoint files"
            break
        try:
            documents[name] = _open_document(store, path, name, files, budget, meter)
            payload |= documents[name].payload_files
        except Malformed as error:
            budget.check_time()
            if _is_damaged(name, error):
                damaged[clean(name)] = error.why
            elif isinstance(error, Foreign):
                foreign.append(f"{clean(name)}: {error.why}")
    bundle = Bundle(path, True, documents, files, damaged)
    if not bundle.lacks_metadata and all(d.format in SIDE_FORMATS for d in documents.values()):
        raise Malformed("no file in it is a checkpoint", next(iter((*damaged.values(), *foreign)), None))
    return bundle


def _is_damaged(name: str, error: Malformed) -> bool:
    """Whether a file of a folder that cannot be read should have been a part of the checkpoint."""
    if isinstance(error, Unrelated):
        return False
    return (
        not isinstance(error, Unrecognised)
        or re.fullmatch(_CHECKPOINT_NAME, posixpath.basename(name)) is not None
    )


def _open_document(
    store: Store, folder: str, name: str, files: dict[str, int], budget: Budget, meter: Meter
) -> Document:
    opened: list[Source] = []

    def sibling(other: str) -> Source | None:
        if other not in files:
            return None
        opened.append(store.open(store.join(folder, other), other, meter))
        return opened[-1]

    try:
        opened.append(store.open(store.join(folder, name), name, meter))
        return decode_file(Reading(opened[0], budget, sibling, posixpath.basename(name)))
    finally:
        for source in opened:
            source.close()


def _inspect(bundle: Bundle, budget: Budget, meter: Meter) -> Inspection:
    found = survey(bundle, budget)
    return Inspection(_facts(bundle, found, budget, meter), bundle, found)


def _facts(bundle: Bundle, found: Survey, budget: Budget, meter: Meter) -> CheckpointFacts:
    layout = layout_of(bundle)
    states = layout.states(bundle, found)
    models = [find for find in found.of(StateKind.MODEL) if find.is_there]
    optimizers = [find for find in found.of(StateKind.OPTIMIZER) if find.is_there][:_MAX_OPTIMIZERS]
    prefixes = _prefixes(models)
    documents = bundle.documents.values()
    payloads = [d.payload_bytes for d in documents if d.payload_bytes is not None]
    return CheckpointFacts(
        path=clean(bundle.path, 4096),
        format=_format(bundle),
        layout=layout.NAME,
        size_bytes=sum(bundle.files.values()),
        read_bytes=meter.read_bytes,
        states=states,
        tensors=tuple(_entries(found)),
        optimizers=account_all(found, optimizers, models, budget),
        executable_globals=executable(name for d in documents for name in d.globals),
        model_prefixes=prefixes,
        compiled=True if "_orig_mod." in prefixes or found.compiled_by else None,
        payload_bytes=sum(payloads) if payloads else None,
        notes=tuple(_notes(bundle)),
        progress=_progress(found, states),
        missing_parts=tuple(_missing_parts(bundle)),
    )


def _format(bundle: Bundle) -> str:
    """The format of the file, or of most of a folder's checkpoint files."""
    names = [document.format for document in bundle.documents.values()]
    if "dcp" in names or not names:
        return "dcp"
    weighed = [name for name in names if name not in SIDE_FORMATS] or names
    return max(sorted(set(weighed)), key=weighed.count)


def _entries(found: Survey) -> Iterator[TensorEntry]:
    """Every tensor as a fact."""
    for document, group in groupby(found.tensors, itemgetter(0)):
        name = clean(document.name)
        for _, path, tensor in group:
            first = tensor.storage
            if first is None or tensor.parts:
                yield _entry_of_parts(document, path, tensor)
                continue
            yield TensorEntry(
                document.show(show_path(path)),
                tensor.dtype,
                tensor.shape,
                first.device,
                f"{name}:{clean(first.key)}",
                first.size_bytes,
                needed_bytes(tensor.dtype, tensor.shape),
            )


def _entry_of_parts(document: Document, path: Path, tensor: Tensor) -> TensorEntry:
    """A tensor that keeps its data in others, or none at all."""
    storages = list(tensor.storages())
    return TensorEntry(
        key=document.show(show_path(path)),
        dtype=tensor.dtype,
        shape=tensor.shape,
        device=storages[0].device if storages else None,
        storage=f"{clean(document.name)}:{clean(storages[0].key)}" if storages else "",
        storage_bytes=sum(storage.size_bytes for storage in storages),
        tensor_bytes=tensor.size_bytes,
    )


def _prefixes(models: list[Find]) -> tuple[str, ...]:
    """Wrapper prefixes that stand anywhere in the names of the model's tensors."""
    names = [
        key
        for model in models
        if isinstance(model.node, dict)
        for key in model.node
        if isinstance(key, str) and "mod" in key
    ]
    return tuple(prefix for prefix in _PREFIXES if any(_has_prefix(name, prefix) for name in names))


def _has_prefix(name: str, prefix: str) -> bool:
    return (
        name.startswith(prefix)
        or (prefix != "module." and f".{prefix}" in name)
        or f"_orig_mod.{prefix}" in name
    )


def _notes(bundle: Bundle) -> list[str]:
    notes = []
    for document in bundle.documents.values():
        notes += [document.show(note) for note in document.notes]
    notes += [f"{name}: {why}" for name, why in bundle.damaged.items()]
    return notes


def _missing_parts(bundle: Bundle) -> list[str]:
    missing = []
    for document in bundle.documents.values():
        missing += [document.show(what) for what in document.missing_parts]
        missing += [f"{name} is missing" for name in absent_shards(document, bundle)]
    if bundle.lacks_metadata:
        missing.append(".metadata, which a save writes last, is missing")
    missing += [f"{name} is damaged: {why}" for name, why in bundle.damaged.items()]
    return missing


def _progress(found: Survey, states: States) -> dict[str, int]:
    """Counters that the layout takes for what they are called."""
    progress = {}
    for kind in (StateKind.STEP, StateKind.EPOCH, StateKind.DATALOADER_POSITION):
        there = states[kind].status is PresenceStatus.PRESENT
        for find in found.of(kind) if there else ():
            value = counter_value(find.node)
            if value is not None and -(1 << 62) < value < 1 << 62:
                progress["position" if kind is StateKind.DATALOADER_POSITION else kind.value] = int(value)
                break
    return progress
