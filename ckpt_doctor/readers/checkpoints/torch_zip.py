"""torch.save since PyTorch 1.6: a zip archive with ``data.pkl`` and one record for each storage.

Names lie under one folder, which is called after the file at the save, so its name says nothing.
Only the directory, ``data.pkl`` and a few records of some bytes are read. Source of the format:
``torch/serialization.py`` and ``caffe2/serialize/inline_container.cc`` of PyTorch.
"""

from __future__ import annotations

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import MAX_PICKLE_BYTES, Malformed
from ckpt_doctor.readers.pickles import decode
from ckpt_doctor.readers.storages import StorageTable
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.zips import Archive

NAME = "torch_zip"
ORDER = 20

_MAX_SMALL_RECORD = 4096
_SHOWN = 3


def claims(reading: Reading) -> bool:
    """A zip with ``<folder>/data.pkl`` and without TorchScript's ``constants.pkl``."""
    if not reading.is_zip or not len(reading.archive):
        return False
    folder = top_folder(reading.archive)
    lower = {
        name.lower() for name in (f"{folder}/data.pkl", f"{folder}/constants.pkl") if name in reading.archive
    }
    if not lower:
        lower = {
            name.lower() for name in reading.archive if name.count("/") == 1 and name.lower().endswith(".pkl")
        }
        folder = folder.lower()
    return f"{folder}/data.pkl".lower() in lower and f"{folder}/constants.pkl".lower() not in lower


def read(reading: Reading) -> Document:
    """Decode ``data.pkl`` and check the storages against the records.

    Raises:
        Malformed: The archive is not one that torch.load would read, or it exceeds a limit.
    """
    archive = reading.archive
    folder = _checked_folder(archive)
    name = _record(archive, f"{folder}/data.pkl")
    table = StorageTable()
    raw = archive.read(name, MAX_PICKLE_BYTES)
    decoded = decode(raw, reading.budget, persistent=table.load)
    notes = list(archive.notes)
    missing = tuple(_missing(archive, folder, table))
    byteorder = f"{folder}/byteorder"
    if byteorder in archive and archive.read(byteorder, _MAX_SMALL_RECORD).strip() == b"big":
        notes.append("it was saved on a big-endian machine")
    if name != f"{folder}/data.pkl":
        notes.append("its data.pkl is written in another case, which only torch finds")
    return Document(
        reading.source.name,
        NAME,
        decoded.value,
        decoded.globals,
        len(raw),
        notes=tuple(notes),
        missing_parts=missing,
    )


def top_folder(archive: Archive) -> str:
    """The folder of the first record; empty where that lies in none."""
    return next(iter(archive)).partition("/")[0] if len(archive) else ""


def _checked_folder(archive: Archive) -> str:
    folder = top_folder(archive)
    prefix = f"{folder}/"
    for name in archive:
        if not name.startswith(prefix):
            raise Malformed(
                f"its records lie in more than one folder ({clean(name)}), which torch.load refuses"
            )
    if not any(_has(archive, prefix + record) for record in ("version", ".data/version")):
        raise Malformed("its record 'version' is missing, and torch.load refuses it without")
    return folder


def _has(archive: Archive, name: str) -> bool:
    return name in archive or any(each.lower() == name.lower() for each in archive)


def _record(archive: Archive, name: str) -> str:
    if name in archive:
        return name
    found = next((each for each in archive if each.lower() == name.lower()), None)
    if found is None:
        raise Malformed("the archive has no record data.pkl, so torch.save did not write it")
    return found


def _missing(archive: Archive, folder: str, table: StorageTable) -> list[str]:
    missing, wrong = [], []
    for key, storage in table.by_key.items():
        size = archive.size_bytes(f"{folder}/data/{key}")
        if size is None:
            missing.append(clean(key, 40))
        elif size != storage.size_bytes:
            wrong.append(f"{clean(key, 40)} ({size:,} bytes, {storage.size_bytes:,} declared)")
    notes = []
    if missing:
        notes.append(f"{len(missing)} storages are missing from the archive: {_some(missing)}")
    if wrong:
        notes.append(f"{len(wrong)} storages have another size than declared: {_some(wrong)}")
    return notes


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
